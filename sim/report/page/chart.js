// Charts, drawn by uPlot in the page's colours. Each is a figure that can be reached by keyboard: the
// arrow keys move the cursor, whose values stand beside the title.
const charts = [];
const chart_font = "12px system-ui, sans-serif";

function log_ticks(min, max) {
  const all = [], tens = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power) {
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** power;
      if (value < min * 0.999 || value > max * 1.001) continue;
      all.push(value);
      if (digit === 1) tens.push(value);
    }
  }
  return all.length <= 7 || tens.length < 2 ? all : tens;
}

/// Of an axis' own ticks those that stand far enough apart for their labels.
function apart(axis, min, max, width) {
  const place = (value) => axis.log ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
  const kept = [];
  for (const value of [...axis.ticks].sort((a, b) => a - b)) {
    if (value < min || value > max) continue;
    if (kept.length > 0 && (place(value) - place(kept[kept.length - 1])) * width < 48) continue;
    kept.push(value);
  }
  return kept;
}

/// Values that hardly differ stand together, rather than a hundredth of a per cent over all of the axis.
function range_of_points(min, max) {
  const least = 0.05 * Math.max(Math.abs(min), Math.abs(max)) || 1;
  const missing = Math.max(0, least - (max - min)) / 2, margin = 0.06 * Math.max(max - min, least);
  return [min - missing - margin, max + missing + margin];
}

function scale_of(axis, is_y, has_points, [low, high] = [Infinity, -Infinity]) {
  if (is_y && high > -Infinity) {
    const plain = scale_of(axis, is_y, has_points);
    return { ...plain, range: (u, min, max) =>
      plain.range(u, Math.min(min ?? low, low), Math.max(max ?? high, high)) };
  }
  if (axis.log) {
    return { time: false, distr: 3, range: (u, min, max) => [min / 1.3, max * 1.3] };
  }
  if (axis.share && is_y) {
    return { time: false, range: (u, min, max) => [0, max > 0.5 ? 1 : max > 0 ? max * 1.15 : 1] };
  }
  return { time: false, range: (u, min, max) => is_y
    ? [Math.min(0, min), max > 0 ? max * 1.08 : 1]
    : has_points ? range_of_points(min, max)
    : [min, max > min ? max : min + 1] };
}

function axis_of(axis, is_y) {
  const options = {
    stroke: () => css("--muted"), font: chart_font, labelFont: chart_font, label: axis.label,
    labelSize: 18, labelGap: 0, gap: 4, ticks: { show: false },
    grid: { stroke: () => css("--grid"), width: 1 },
    values: (u, splits) => splits.map((value, i) => {
      if (axis.log) return value >= 1e6 ? tick(value, 1, false) : String(+value.toPrecision(2));
      return tick(value, splits.length > 1 ? splits[1] - splits[0] : value, axis.share);
    }),
  };
  if (axis.ticks && axis.ticks.length <= 16) {
    options.splits = (u, index, min, max) => apart(axis, min, max, u.width);
    options.filter = (u, splits) => splits;
    options.values = (u, splits) => splits.map((value) => fixed_as_is(value));
  } else if (axis.log) {
    options.splits = (u, index, min, max) => log_ticks(min, max);
    options.filter = (u, splits) => splits;
  }
  if (is_y) {
    options.size = (u, values) => {
      const longest = Math.max(1, ...(values ?? []).map((text) => text.length));
      return 12 + 7 * longest;
    };
    options.space = 34;
  } else {
    options.size = 26;
    options.space = 62;
  }
  return options;
}

/// Series of one x each as uPlot wants them: all x, and a column a series with holes.
function joined(series) {
  const first = series[0].x;
  const same = series.every((one) => one.x.length === first.length &&
    one.x.every((x, i) => x === first[i]));
  if (same) return [first, ...series.map((one) => one.y)];
  return uPlot.join(series.map((one) => [one.x, one.y]));
}

/// A distribution starts at zero on the axis, and of equal x the last counts.
function as_steps(one, is_log) {
  const x = [], y = [];
  if (one.x.length > 0) {
    x.push(is_log ? one.x[0] * 0.9 : Math.min(0, one.x[0]));
    y.push(0);
  }
  for (let i = 0; i < one.x.length; ++i) {
    if (one.x[i] === x[x.length - 1]) y[y.length - 1] = one.y[i];
    else {
      x.push(one.x[i]);
      y.push(one.y[i]);
    }
  }
  return { ...one, x, y };
}

function draw_marks(u, marks) {
  const context = u.ctx;
  for (const mark of marks) {
    const x = u.valToPos(mark.x, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    context.save();
    context.strokeStyle = context.fillStyle = css("--bad");
    context.lineWidth = devicePixelRatio;
    context.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    context.beginPath();
    context.moveTo(x, u.bbox.top);
    context.lineTo(x, u.bbox.top + u.bbox.height);
    context.stroke();
    context.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    const is_right = x > u.bbox.left + u.bbox.width * 0.7;
    context.textAlign = is_right ? "right" : "left";
    context.fillText(mark.label, x + (is_right ? -5 : 5) * devicePixelRatio,
      u.bbox.top + u.bbox.height - 8 * devicePixelRatio);
    context.restore();
  }
}

/// Discs whose area is their share.
function draw_points(u, series) {
  const context = u.ctx;
  context.save();
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  for (const one of series) {
    if (one.kind !== "points") continue;
    context.fillStyle = context.strokeStyle = css(one.colour);
    for (let i = 0; i < one.x.length; ++i) {
      context.beginPath();
      context.arc(u.valToPos(one.x[i], "x", true), u.valToPos(one.y[i], "y", true),
        radius(one, i) * devicePixelRatio, 0, 2 * Math.PI);
      context.globalAlpha = 0.45;
      context.fill();
      context.globalAlpha = 1;
      context.stroke();
    }
  }
  context.restore();
}

/// From low to high at each point that is not sure, with a serif at both ends.
function draw_whiskers(u, series) {
  const context = u.ctx, serif = 3.5 * devicePixelRatio;
  context.save();
  context.lineWidth = devicePixelRatio;
  for (const one of series) {
    if (!one.low) continue;
    context.strokeStyle = css(one.colour);
    for (let i = 0; i < one.x.length; ++i) {
      if (!(one.high[i] > one.low[i])) continue;
      const x = u.valToPos(one.x[i], "x", true);
      if (x < u.bbox.left - 1 || x > u.bbox.left + u.bbox.width + 1) continue;
      const ends = [one.low[i], one.high[i]].map((value) => u.valToPos(value, "y", true));
      context.beginPath();
      context.moveTo(x, ends[0]);
      context.lineTo(x, ends[1]);
      for (const end of ends) {
        context.moveTo(x - serif, end);
        context.lineTo(x + serif, end);
      }
      context.stroke();
    }
  }
  context.restore();
}

/// The range of y with all whiskers.
function whisker_range(series) {
  return [Math.min(...series.flatMap((one) => one.low ?? [])),
    Math.max(...series.flatMap((one) => one.high ?? []))];
}

function radius(one, i) {
  return 2.5 + 13 * Math.sqrt(one.size ? one.size[i] : 0.1);
}

function nearest_point(u, series) {
  const { left, top } = u.cursor;
  let best = null, best_distance = 24;
  for (const one of series) {
    if (one.kind !== "points") continue;
    for (let i = 0; i < one.x.length; ++i) {
      const distance = Math.hypot(u.valToPos(one.x[i], "x") - left,
        u.valToPos(one.y[i], "y") - top) - radius(one, i);
      if (distance < best_distance) [best, best_distance] = [{ one, i }, distance];
    }
  }
  return best;
}

/// What a series shows at x: a line what lies between its points, on the axes as they are drawn; a
/// staircase what its last step said. Null where it has nothing.
function value_at(one, x, part) {
  const after = one.x.findIndex((at) => at >= x);
  if (after >= 0 && one.x[after] === x) {
    let last = after;  // of equal x the last counts
    while (one.x[last + 1] === x) ++last;
    return one.y[last];
  }
  if (after === 0) return null;
  if (one.kind === "steps") return one.y[after < 0 ? one.y.length - 1 : after - 1];
  if (after < 0) return null;
  const on = (axis, value) => axis.log ? Math.log(value) : value;
  const from = on(part.x, one.x[after - 1]), to = on(part.x, one.x[after]);
  const share = (on(part.x, x) - from) / (to - from);
  const y = on(part.y, one.y[after - 1]) * (1 - share) + on(part.y, one.y[after]) * share;
  return part.y.log ? Math.exp(y) : y;
}

function readout_text(u, part, series) {
  if (u.cursor.left < 0) return "";
  const point = nearest_point(u, series);
  if (point) return point.one.notes?.[point.i] ?? point.one.name;
  const index = u.cursor.idx;
  if (index === null || index === undefined || series.every((one) => one.kind === "points")) return "";
  const show = (axis, value) => axis.share ? `${brief(value * 100)} %` : brief(value);
  const parts = [], x = u.data[0][index];
  for (const one of series) {
    if (one.kind === "points") continue;
    const value = value_at(one, x, part);
    if (value === null || value === undefined) continue;
    parts.push(series.length > 1 ? `${one.name}: ${show(part.y, value)}` : show(part.y, value));
  }
  return `${show(part.x, x)} → ${parts.join(", ")}`;
}

function legend_of(series) {
  const list = element("ul", { class: "legend" });
  for (const one of series) {
    const swatch = element("i", { style: `background:var(${one.colour})` });
    list.append(element("li", {}, swatch, one.name));
  }
  return list;
}

/// What a reader who does not see the chart is told.
function description(part, series) {
  const texts = series.map((one) => {
    const low = Math.min(...one.y), high = Math.max(...one.y);
    const show = (value) => part.y.share ? `${brief(value * 100)} %` : brief(value);
    return `${one.name} from ${show(low)} to ${show(high)}`;
  });
  return `Chart: ${part.title}. ${part.y.label} against ${part.x.label}: ${texts.join("; ")}.`;
}

function make_chart(part) {
  const series = part.series.map((one, i) => {
    const prepared = one.kind === "steps" ? as_steps(one, part.x.log) : one;
    return { ...prepared, colour: `--c${i % 10}` };
  });
  const has_points = series.some((one) => one.kind === "points");
  const readout = element("span", { class: "readout", "aria-hidden": "true" });
  const place = element("div", { class: "plot" });
  const figure = element("figure", { tabindex: "0", role: "img",
    "aria-label": description(part, series) },
    element("figcaption", {}, element("span", {}, part.title), readout), place);
  if (has_points) figure.classList.add("wide");
  if (series.length > 1) figure.append(legend_of(series));
  const lines = series.filter((one) => one.kind !== "points");
  const all = has_points ? series.map((one) => one.kind === "points" ? by_x(one) : one) : series;
  const options = {
    width: 320, height: has_points ? 380 : 230, legend: { show: false },
    padding: [8, 24, 0, 0],
    cursor: { y: false, points: { show: !has_points }, drag: { x: true, y: false },
      ...(part.sync ? { sync: { key: part.sync, setSeries: false } } : {}) },
    scales: { x: scale_of(part.x, false, has_points || series.some((one) => one.has_dots)), y: scale_of(part.y, true, has_points,
      whisker_range(series)) },
    axes: [axis_of(part.x, false), axis_of(part.y, true)],
    series: [{}, ...all.map((one) => ({
      label: one.name, spanGaps: true, width: 1.75,
      points: { show: Boolean(one.has_dots), size: 7, fill: () => css(one.colour) },
      stroke: () => one.kind === "points" ? "transparent" : css(one.colour),
      ...(one.kind === "area" ? { fill: () => `${css(one.colour)}2e` } : {}),
      ...(one.kind === "steps" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      ...(one.kind === "points" ? { paths: () => null } : {}),
    }))],
    hooks: {
      draw: [(u) => draw_whiskers(u, series), (u) => draw_points(u, series), (u) => draw_marks(u, part.marks)],
      setCursor: [(u) => { readout.textContent = readout_text(u, part, all); }],
    },
  };
  let chart = null;
  /// Where another chart takes its place.
  figure.stop = () => {
    if (!chart) return;
    charts.splice(charts.indexOf(chart), 1);
    chart.destroy();
  };
  figure.start = () => {
    options.width = Math.max(200, place.clientWidth);
    chart = new uPlot(options, joined(all), place);
    charts.push(chart);
    const points = all.flatMap((one) => one.kind === "points"
      ? one.x.map((x, i) => ({ x, y: one.y[i] })) : []).sort((a, b) => a.x - b.x);
    figure.addEventListener("keydown", (event) => move_cursor(event, chart, points));
    new ResizeObserver(() => {
      const width = Math.max(200, place.clientWidth);
      if (width !== chart.width) chart.setSize({ width, height: options.height });
    }).observe(place);
  };
  return figure;
}

/// uPlot wants ascending x, of points too.
function by_x(one) {
  const order = one.x.map((_, i) => i).sort((a, b) => one.x[a] - one.x[b]);
  const pick = (values) => values && order.map((i) => values[i]);
  return { ...one, x: pick(one.x), y: pick(one.y), size: pick(one.size), notes: pick(one.notes),
    low: pick(one.low), high: pick(one.high) };
}

/// From point to point where there are some, else along the lines.
function move_cursor(event, chart, points) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  if (points.length > 0) {
    const count = points.length;
    chart.shown_point = ((chart.shown_point ?? (step > 0 ? -1 : count)) + step + count) % count;
    const { x, y } = points[chart.shown_point];
    chart.setCursor({ left: chart.valToPos(x, "x"), top: chart.valToPos(y, "y") });
    return;
  }
  const last = chart.data[0].length - 1;
  const jump = Math.max(1, Math.round(last / 60)) * step;
  const index = Math.min(last, Math.max(0, (chart.cursor.idx ?? (step > 0 ? -1 : last + 1)) + jump));
  chart.setCursor({ left: chart.valToPos(chart.data[0][index], "x"), top: chart.height / 3 });
}

function redraw_charts() {
  for (const chart of charts) chart.redraw(false, true);
}
