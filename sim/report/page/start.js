// Puts the page together and says when it can be read: data-ready holds the milliseconds it took.
const makers = { tiles: make_tiles, chart: make_chart, bars: make_bars, gains: make_gains,
  grid: make_grid, table: make_table, notes: make_notes, text: make_text };

function make_theme_button() {
  const themes = ["auto", "light", "dark"];
  let chosen = 0;
  const button = element("button", { type: "button", class: "theme" });
  const name = () => { button.textContent = `Colours: ${themes[chosen]}`; };
  button.addEventListener("click", () => {
    chosen = (chosen + 1) % themes.length;
    if (chosen === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[chosen];
    name();
    redraw_charts();
  });
  name();
  return button;
}

function build(page) {
  const main = element("main", { id: "content" });
  const links = element("ul");
  const starters = [];
  let place = main, gallery = null, number = 0;
  for (const part of page.parts) {
    if (part.kind === "section") {
      const id = `section-${++number}`;
      place = element("section", { "aria-labelledby": id }, element("h2", { id }, part.name));
      if (part.note) place.append(element("p", { class: "note" }, part.note));
      main.append(place);
      links.append(element("li", {}, element("a", { href: `#${id}` }, part.name)));
      gallery = null;
      continue;
    }
    const made = makers[part.kind](part);
    if (made.start) starters.push(made.start);
    if (part.kind !== "chart") {
      gallery = null;
      place.append(made);
      continue;
    }
    if (gallery === null) {
      gallery = element("div", { class: "charts" });
      place.append(gallery);
    }
    gallery.append(made);
    gallery.dataset.charts = String(gallery.children.length);
  }
  const nav = element("nav", { "aria-label": "Sections" }, element("div", {}, links));
  document.body.append(
    element("a", { class: "skip", href: "#content" }, "Skip to the report"),
    element("header", {}, element("div", {}, element("h1", {}, page.title), make_theme_button()),
      element("p", {}, `Foretoken ${page.version} · ${page.report}`)),
    nav,
    main,
    element("footer", {}, "Charts: drag to zoom, double-click to see all again; arrow keys move the "
      + "cursor of the chart that has the focus. Everything is in this file; nothing is fetched."));
  for (const start of starters) start();
  show_what_is_cut(links);
}

/// A list that goes on beyond its edge fades out there.
function show_what_is_cut(list) {
  const update = () => {
    list.classList.toggle("more-before", list.scrollLeft > 1);
    list.classList.toggle("more-behind", list.scrollLeft + list.clientWidth < list.scrollWidth - 1);
  };
  list.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(list);
}

build(JSON.parse(document.getElementById("data").textContent));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw_charts);
requestAnimationFrame(() => setTimeout(() => {
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}));
