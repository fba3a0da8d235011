// Figures over what was varied: the reader chooses the figure and which key runs along the axis. A key
// of numbers makes a line chart with a line for each value of a second key, or like any other key bars
// or a table of coloured cells; further keys are held at a value.
const most_lines = 10;  // as many as there are colours

function select_of(label, names, chosen, choose) {
  const select = element("select", {});
  names.forEach((name, i) => select.append(element("option", { value: String(i) }, name)));
  select.value = String(chosen);
  select.addEventListener("change", () => choose(Number(select.value)));
  return element("label", {}, `${label} `, select);
}

function with_unit(name, unit) {
  return unit ? `${name}, ${unit}` : name;
}

/// Values like 1, 2, 4, 8, which a linear axis would crowd at its left.
function is_doubling(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted.length > 3 && sorted[0] > 0 && sorted.every((value, i) => i === 0 || value >= 1.9 * sorted[i - 1]);
}

function make_grid(part) {
  const keys = part.keys.map((key) => ({ ...key, places: unpack_numbers(key.places),
    is_number: key.numbers.length > 1 }));
  const figures = part.figures.map((figure) => ({ ...figure, decimals: figure.means.decimals,
    values: unpack_numbers(figure.means), interval: unpack_interval(figure.means) }));
  const points = Array.from({ length: figures[0].values.length }, (_, i) => i);
  const by_size = keys.map((_, i) => i).sort((a, b) =>
    keys[b].is_number - keys[a].is_number || keys[b].values.length - keys[a].values.length || a - b);
  const state = { figure: 0, along: by_size[0], lines: part.crossed ? by_size[1] ?? -1 : -1,
    is_table: false, held: keys.map(() => 0) };
  const tools = element("div", { class: "tools" });
  const place = element("div", { class: "grid-place" });
  const box = element("div", { class: "grid-box grid" }, tools, place);
  let drawn = null;

  const others = () => part.crossed
    ? keys.map((_, i) => i).filter((i) => i !== state.along && i !== state.lines) : [];
  const text_of = (figure, point) => {
    const value = figure.values[point];
    if (value !== value) return "–";
    return fixed(value, figure.decimals)
      + interval_lines({ interval: figure.interval, decimals: figure.decimals }, point).join("");
  };
  const chosen_points = () =>
    points.filter((point) => others().every((i) => keys[i].places[point] === state.held[i]));

  function lines(figure) {
    const along = keys[state.along], second = state.lines < 0 ? null : keys[state.lines];
    const series = [];
    (second ? second.values : [figure.name]).forEach((value, line) => {
      const here = chosen_points()
        .filter((point) => !second || second.places[point] === line)
        .filter((point) => figure.values[point] === figure.values[point])
        .sort((a, b) => along.numbers[along.places[a]] - along.numbers[along.places[b]]);
      if (here.length === 0) return;
      const ends = (name) => here.map((point) => {
        const end = figure.interval?.[name][point];
        return end === undefined || end !== end ? figure.values[point] : end;
      });
      series.push({ kind: "line", name: second ? `${second.name} ${value}` : value,
        x: here.map((point) => along.numbers[along.places[point]]),
        y: here.map((point) => figure.values[point]), has_dots: true,
        ...(figure.interval ? { low: ends("low"), high: ends("high") } : {}) });
    });
    if (series.length === 0) return element("p", { class: "note" }, "Nothing ran here.");
    const shown = series.length <= most_lines ? series : Array.from({ length: most_lines },
      (_, i) => series[Math.round(i * (series.length - 1) / (most_lines - 1))]);
    const made = make_chart({ title: `${figure.name} by ${along.name}`,
      x: { label: with_unit(along.name, along.unit), ticks: along.numbers, log: is_doubling(along.numbers) },
      y: { label: with_unit(figure.name, figure.unit) },
      series: shown, marks: [] });
    if (series.length > most_lines) {
      made.append(element("p", { class: "note" }, `${most_lines} of ${series.length} lines, spread `
        + "evenly; the table has all."));
    }
    return made;
  }

  function bars(figure) {
    const along = keys[state.along];
    const here = chosen_points().filter((point) => figure.values[point] === figure.values[point]);
    const most = Math.max(...here.map((point) => figure.values[point])) || 1;
    return make_bars({ title: `${with_unit(figure.name, figure.unit)} by ${along.name}`,
      bars: here.map((point) => {
        const name = part.crossed ? along.values[along.places[point]]
          : keys.map((key) => key.values[key.places[point]]).join(", ");
        return { name, value: text_of(figure, point),
          parts: [{ name, share: Math.max(0, figure.values[point]) / most }] };
      }) });
  }

  function cells(figure) {
    const along = keys[state.along], second = keys[state.lines];
    const at = new Map(chosen_points().map((point) =>
      [along.places[point] * second.values.length + second.places[point], point]));
    const known = [...at.values()].map((point) => figure.values[point]).filter((value) => value === value);
    const low = Math.min(...known), high = Math.max(...known);
    const head = element("tr", {}, element("th", { scope: "col", class: "text" },
      `${second.name} \\ ${along.name}`),
      ...along.values.map((value) => element("th", { scope: "col" }, value)));
    const rows = second.values.map((value, row) => {
      const line = element("tr", {}, element("th", { scope: "row", class: "text" }, value));
      along.values.forEach((_, column) => {
        const point = at.get(column * second.values.length + row);
        const cell = element("td", {}, point === undefined ? "" : text_of(figure, point));
        const number = point === undefined ? NaN : figure.values[point];
        if (number === number) {
          const share = high > low ? (number - low) / (high - low) : 0;
          cell.style.setProperty("--heat", `${Math.round(4 + 34 * share)}%`);
          if (number === (figure.more_is_better ? high : low)) cell.classList.add("best");
        }
        line.append(cell);
      });
      return line;
    });
    return element("div", { class: "scroller", tabindex: "0", role: "region",
      "aria-label": `${figure.name} by ${along.name} and ${second.name}` },
    element("table", { class: "heat" }, element("caption", {}, with_unit(figure.name, figure.unit)),
      element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  function show() {
    const figure = figures[state.figure], along = keys[state.along];
    drawn?.stop?.();
    drawn = along.is_number && !state.is_table ? lines(figure)
      : state.lines >= 0 ? cells(figure) : bars(figure);
    place.replaceChildren(drawn);
    drawn.start?.();
  }

  /// After a choice the selects are made again, and the one that was used keeps the focus.
  function change(name, apply) {
    return (value) => {
      apply(value);
      arrange();
      tools.querySelector(`[data-name="${name}"] select`)?.focus();
      show();
    };
  }
  function add(name, label, names, chosen, apply) {
    const made = select_of(label, names, chosen, change(name, apply));
    made.dataset.name = name;
    tools.append(made);
  }
  function arrange() {
    tools.replaceChildren();
    add("figure", "Figure", figures.map((figure) => with_unit(figure.name, figure.unit)), state.figure,
      (value) => { state.figure = value; });
    if (keys.length > 1) {
      add("along", "along", keys.map((key) => key.name), state.along, (value) => {
        if (value === state.lines) state.lines = state.along;  // they change places
        state.along = value;
      });
    }
    if (part.crossed && keys.length > 1) {
      const rest = keys.map((_, i) => i).filter((i) => i !== state.along);
      const is_drawn = keys[state.along].is_number && !state.is_table;
      add("lines", is_drawn ? "a line for each" : "and", rest.map((i) => keys[i].name),
        rest.indexOf(state.lines), (value) => { state.lines = rest[value]; });
    }
    if (keys[state.along].is_number) {
      add("shape", "as", ["a chart", state.lines >= 0 ? "a table" : "bars"], Number(state.is_table),
        (value) => { state.is_table = value === 1; });
    }
    for (const i of others()) {
      add(`held-${i}`, `${keys[i].name} =`, keys[i].values, state.held[i],
        (value) => { state.held[i] = value; });
    }
  }
  box.start = () => {
    arrange();
    show();
  };
  return box;
}
