// Tables that sort by any column. Only the rows in view are elements, so that 100,000 of them cost what
// 40 do; the scroller can be reached by keyboard, and headers are buttons.
const line_height = 29;  // a row of one line, with its rule; style.css
const more_height = 16;  // of every line more

function compare_rows(column, direction) {
  const values = column.values;
  if (column.texts) return (a, b) => direction * (values[a] - values[b]) || a - b;  // sorted texts
  return (a, b) => {
    const x = values[a], y = values[b];
    if (x !== x) return y !== y ? a - b : 1;  // empty cells come last either way
    if (y !== y) return -1;
    return direction * (x - y) || a - b;
  };
}

function cell_text(column, row) {
  const value = column.values[row];
  if (column.texts) return column.texts[value];
  return value !== value ? "" : column.decimals > 0 || Math.abs(value) >= 1000
    ? fixed(value, column.decimals) : String(value);
}

/// "7.21–9.10", "?" for an end that nobody knows; "" where there is no interval.
function ends_text(interval, decimals, row) {
  if (!interval) return "";
  const { low, high } = interval;
  if (low[row] !== low[row] && high[row] !== high[row] || low[row] === high[row]) return "";
  const end = (value) => value !== value ? "?" : fixed(value, decimals);
  return `${end(low[row])}–${end(high[row])}`;
}

/// " (7.21–9.10)", " [7.02–9.44]", a line each: the second for prices alone.
function interval_lines(column, row) {
  const ends = ends_text(column.interval, column.decimals, row);
  const prices = ends_text(column.prices, column.decimals, row);
  return [ends && ` (${ends})`, prices && ` [${prices}]`].filter((text) => text !== "");
}

/// Wide enough for its longest cell and its name, in characters.
function column_width(column) {
  let longest = 0;
  if (column.texts) {
    for (const text of column.texts) longest = Math.max(longest, text.length);
  } else {
    let high = 0;
    for (const value of column.values) if (Math.abs(value) > high) high = Math.abs(value);
    longest = fixed(high, column.decimals).length + 1;
    column.values.forEach((_, row) => {
      for (const text of interval_lines(column, row)) longest = Math.max(longest, text.length * 0.92 - 1);
    });
  }
  const name = Math.max(...column.name.split(" ").map((word) => word.length), column.unit.length);
  return Math.min(60, Math.max(longest, name + 2, 5));
}

function make_table(part) {
  const columns = part.columns.map((column) => ({ ...column, values: unpack_numbers(column),
    interval: unpack_interval(column), prices: unpack_interval(column, "price_") }));
  let order = Uint32Array.from({ length: part.rows }, (_, i) => i);
  const filters = new Map();  // column to value
  let sorted = null, direction = 1, shown_from = -1;
  const status = element("span", { "aria-live": "polite" });
  const tools = element("div", { class: "tools" }, status);
  const head = element("tr");
  const body = element("tbody");
  const sizes = element("colgroup");
  let width = 0;
  for (const column of columns) {
    const size = column_width(column) * 0.64 + 1.9;
    width += size;
    sizes.append(element("col", { style: `width:${size.toFixed(1)}em` }));
  }
  const lines_more = Math.max(...columns.map((column) => (column.interval ? 1 : 0) + (column.prices ? 1 : 0)));
  const is_tall = lines_more > 0;
  const row_height = line_height + lines_more * more_height;
  const table = element("table", { class: columns[0].texts || columns[0].key ? "named" : "",
    style: `width:${width.toFixed(1)}em;--row:${row_height - 1}px`,
    "aria-rowcount": String(part.rows + 1) }, sizes, element("thead", {}, head), body);
  const scroller = element("div", { class: "scroller", tabindex: "0", role: "region",
    "aria-label": `Table, a row a ${part.name}` }, table);

  function tell() {
    const names = part.name.endsWith("y") ? `${part.name.slice(0, -1)}ies` : `${part.name}s`;
    const rows = `${fixed(order.length, 0)} ${order.length === 1 ? part.name : names}`;
    status.textContent = sorted === null ? rows
      : `${rows}, by ${sorted.name}, ${direction > 0 ? "ascending" : "descending"}`;
  }
  function show(force) {
    const visible = Math.ceil(scroller.clientHeight / row_height) || 20;
    const from = Math.max(0, Math.floor(scroller.scrollTop / row_height) - 8);
    if (!force && Math.abs(from - shown_from) < 4) return;
    shown_from = from;
    const to = Math.min(order.length, from + visible + 24);
    const rows = [];
    const space = (count) => element("tr", { class: "space", "aria-hidden": "true" },
      element("td", { colspan: String(columns.length), style: `height:${count * row_height}px` }));
    if (from > 0) rows.push(space(from));
    for (let at = from; at < to; ++at) {
      const line = element("tr", { "aria-rowindex": String(at + 2), ...(is_tall ? { class: "tall" } : {}) });
      for (const column of columns) {
        const cell = element("td", column.texts ? { class: "text" } : {});
        cell.textContent = cell_text(column, order[at]);
        for (const text of interval_lines(column, order[at])) {
          cell.append(element("span", { class: "interval" }, text));
        }
        if (column.texts && cell.textContent.length > 60) cell.title = cell.textContent;
        line.append(cell);
      }
      rows.push(line);
    }
    if (to < order.length) rows.push(space(order.length - to));
    body.replaceChildren(...rows);
  }
  function arrange() {
    let rows = Array.from({ length: part.rows }, (_, i) => i);
    for (const [column, value] of filters) rows = rows.filter((row) => column.values[row] === value);
    order = Uint32Array.from(rows);
    if (sorted) order.sort(compare_rows(sorted, direction));
    tell();
    scroller.scrollTop = 0;
    show(true);
  }
  columns.forEach((column) => {
    const arrow = element("span", { class: "arrow", "aria-hidden": "true" });
    const button = element("button", { type: "button" }, `${column.name} `, arrow);
    if (column.unit) button.append(element("small", {}, column.unit));
    const header = element("th", { scope: "col", "aria-sort": "none" }, button);
    if (column.texts) header.classList.add("text");
    button.addEventListener("click", () => {
      direction = sorted === column ? -direction : column.texts ? 1 : -1;
      sorted = column;
      for (const other of head.children) {
        other.setAttribute("aria-sort", "none");
        other.querySelector(".arrow").textContent = "";
      }
      header.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      arrow.textContent = direction > 0 ? "▲" : "▼";
      arrange();
    });
    head.append(header);
    const choices = filter_choices(column);
    if (part.rows > 20 && choices.length > 1 && choices.length <= 12) {
      tools.append(filter_of(column, choices, (value) => {
        if (value === null) filters.delete(column);
        else filters.set(column, value);
        arrange();
      }));
    }
  });
  scroller.addEventListener("scroll", () => show(false), { passive: true });
  tell();
  const box = element("div", { class: "grid-box" }, tools, scroller);
  box.start = () => show(true);
  return box;
}

/// The values that a column may be filtered by: those of keys, and of columns of short texts.
function filter_choices(column) {
  if (column.texts) {
    return column.texts.every((text) => text.length <= 40)
      ? column.texts.map((text, value) => ({ text, value })) : [];
  }
  if (!column.key) return [];
  return [...new Set(column.values)].sort((a, b) => a - b)
    .map((value) => ({ text: fixed(value, column.decimals), value }));
}

function filter_of(column, choices, choose) {
  const select = element("select", { "aria-label": `Show ${column.name}` },
    element("option", { value: "" }, `${column.name}: all`));
  choices.forEach(({ text }, i) => select.append(
    element("option", { value: String(i) }, `${column.name}: ${text || "none"}`)));
  select.addEventListener("change", () =>
    choose(select.value === "" ? null : choices[Number(select.value)].value));
  return select;
}
