// The parts of a page that are plain elements.
function make_tiles(part) {
  const list = element("dl", { class: "tiles" });
  for (const tile of part.tiles) {
    const figure = element("dd", { class: "figure" }, tile.value);
    if (tile.unit) figure.append(" ", element("span", {}, tile.unit));
    const box = element("div", { class: `tile ${tile.tone}` }, element("dt", {}, tile.label), figure);
    if (tile.label.length > 40 || tile.value.length > 20) box.classList.add("long");
    if (tile.note) box.append(element("dd", { class: "more" }, tile.note));
    list.append(box);
  }
  return list;
}

/// A part that shows up in several boxes has one colour.
const part_numbers = new Map();
function part_colour(name) {
  if (!part_numbers.has(name)) part_numbers.set(name, part_numbers.size);
  return colour_name(name, part_numbers.get(name));
}

function make_bars(part) {
  const names = [...new Set(part.bars.flatMap((bar) => bar.parts.map((one) => one.name)))];
  const is_cut = part.bars.some((bar) => bar.parts.some((one) => one.name !== bar.name));
  const colours = Object.fromEntries(names.map((name) => [name,
    is_cut ? part_colour(name) : colour_name(name, 0)]));
  const box = element("div", { class: "bars" }, element("h3", {}, part.title));
  if (is_cut) {
    box.append(legend_of(names.map((name) => ({ name, colour: colours[name] }))));
  }
  const widest = Math.max(...part.bars.map((bar) => bar.parts.reduce((sum, one) => sum + one.share, 0)));
  for (const bar of part.bars) {
    const track = element("div", { class: "track", "aria-hidden": "true" });
    for (const one of bar.parts) {
      track.append(element("i", { title: `${one.name}: ${brief(one.share * 100)} %`,
        style: `width:${(one.share / widest * 100).toFixed(3)}%;background:var(${colours[one.name]})` }));
    }
    const told = is_cut && bar.parts.length > 1
      ? element("span", { class: "hidden-text" },
        `: ${bar.parts.map((one) => `${one.name} ${brief(one.share * 100)} %`).join(", ")}`) : "";
    box.append(element("div", { class: "bar" }, element("span", {}, bar.name), track,
      element("span", { class: "amount" }, bar.value, told)));
  }
  return box;
}

/// Bars to both sides of zero; without losses zero stands at the left.
function make_gains(part) {
  const most = Math.max(0, ...part.gains.map((one) => one.share));
  const least = Math.min(0, ...part.gains.map((one) => one.share));
  const span = most - least || 1;
  const box = element("div", { class: "bars gains" }, element("h3", {}, part.title));
  for (const one of part.gains) {
    const track = element("div", { class: "track", "aria-hidden": "true" },
      element("i", { style: `margin-left:${((Math.min(0, one.share) - least) / span * 100).toFixed(3)}%;`
        + `width:${(Math.abs(one.share) / span * 100).toFixed(3)}%;`
        + `background:var(--${one.share < 0 ? "bad" : "good"})` }));
    box.append(element("div", { class: "bar" }, element("span", {}, one.name), track,
      element("span", { class: "amount" }, one.value)));
  }
  return box;
}

function make_notes(part) {
  return element("ul", { class: "notes" }, ...part.notes.map((note) => element("li", {}, note)));
}

function make_text(part) {
  return element("details", {}, element("summary", {}, part.title),
    element("pre", { tabindex: "0" }, part.text));
}
