// Opens HTML reports in headless Chromium and holds them to what a reader needs: no console message, no
// request, charts that are drawn, a table that sorts by keyboard, nothing wider than a phone, text that
// can be told from its background, focus in the order of the page.
//
//   node check.js CHROMIUM NODE_MODULES FOLDER PAGE.html…    screenshots go to FOLDER; with "" there are none
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const url = require("node:url");

const [chromium, modules, folder, ...pages] = process.argv.slice(2);
const connect = require(path.join(modules, "chrome-remote-interface"));

/// A page is opened on each device and used there; then its window shrinks and the scheme changes under it.
const devices = [
  [{ name: "light", width: 1440, height: 900, scheme: "light" },
    { name: "dark", width: 1280, height: 900, scheme: "dark" }],
  [{ name: "phone", width: 390, height: 844, scheme: "light", mobile: true },
    { name: "phone_dark", width: 360, height: 740, scheme: "dark", mobile: true }],
];

let failures = 0;
function expect(holds, what) {
  if (holds) return;
  ++failures;
  console.log(`  FAILED: ${what}`);
}

function start_browser(profile) {
  const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu",
    "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--remote-debugging-port=0",
    `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
  const port = new Promise((found, failed) => {
    let log = "";
    browser.stderr.on("data", (text) => {
      log += text;
      const match = log.match(/DevTools listening on ws:\/\/[^:]+:(\d+)/);
      if (match) found(Number(match[1]));
    });
    browser.on("exit", () => failed(new Error(`Chromium ended:\n${log}`)));
  });
  return { browser, port };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function evaluate(client, expression) {
  const { result, exceptionDetails } = await client.Runtime.evaluate(
    { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
  return result.value;
}

async function press(client, key, code = 0) {
  const event = { key, code: key, windowsVirtualKeyCode: code };
  await client.Input.dispatchKeyEvent({ type: "keyDown", ...event,
    ...(key === "Enter" ? { text: "\r" } : {}) });
  await client.Input.dispatchKeyEvent({ type: "keyUp", ...event });
}

async function show({ Emulation }, view) {
  await Emulation.setDeviceMetricsOverride({ width: view.width, height: view.height,
    deviceScaleFactor: view.mobile ? 2 : 1, mobile: Boolean(view.mobile) });
  await Emulation.setEmulatedMedia({ features: [{ name: "prefers-color-scheme", value: view.scheme }] });
}

/// Charts follow the size of what they stand in a frame later.
const next_frames = `new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true)))))`;

async function open(client, page, view, problems, requests) {
  const { Page, Runtime, Log, Network } = client;
  await Promise.all([Page.enable(), Runtime.enable(), Log.enable(), Network.enable()]);
  Runtime.consoleAPICalled((call) => problems.push(
    `console.${call.type}: ${call.args.map((one) => one.value ?? one.description).join(" ")}`));
  Runtime.exceptionThrown((thrown) => problems.push(
    thrown.exceptionDetails.exception?.description ?? thrown.exceptionDetails.text));
  Log.entryAdded(({ entry }) => problems.push(`${entry.level}: ${entry.text}`));
  Network.requestWillBeSent(({ request }) => requests.push(request.url));
  await show(client, view);
  await Page.navigate({ url: url.pathToFileURL(page).href });
  for (let waited = 0; waited < 60_000; waited += 50) {
    // While the browser leaves the empty page there is nothing to ask.
    const ready = await evaluate(client, "document.documentElement?.dataset.ready ?? ''")
      .catch(() => "");
    if (ready !== "") return Number(ready);
    await pause(50);
  }
  throw new Error(`${page} was not ready after a minute`);
}

/// How many colours a canvas shows; a blank one shows one. Read from a copy: the browser warns of canvases that are
/// read more than once.
const colours_of = `((canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return new Set(new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
})`;
const canvas_colours = `[...document.querySelectorAll("figure")].map((figure) => {
  const canvas = figure.querySelector("canvas");
  return canvas ? ${colours_of}(canvas) : 0;
})`;

/// WCAG contrast of all text on what it stands on; the least of it.
const least_contrast = `(() => {
  // "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.4)", and what color-mix() gives: "color(srgb 0.1 0.2 0.3)".
  const channels = (text) => text.match(/[\\d.]+/g).map(Number)
    .map((v, i) => text.startsWith("color(srgb") && i < 3 ? v * 255 : v);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let least = [99, ""];
  for (const element of document.querySelectorAll("h1,h2,p,a,dt,dd,th,td,td span,button,label,select,caption,li,.bar span,figcaption span,summary")) {
    if (!element.textContent.trim() || !element.checkVisibility()) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, element.tagName + " " + element.textContent.slice(0, 30)];
  }
  return least;
})()`;

const in_order = `(() => {
  const seen = window.tabbed, all = [];
  for (let i = 1; i < seen.length; ++i) {
    all.push(Boolean(seen[i - 1].compareDocumentPosition(seen[i]) & Node.DOCUMENT_POSITION_FOLLOWING));
  }
  return { count: seen.length, sorted: all.every(Boolean) };
})()`;

const reachable = `[...document.querySelectorAll("a[href],button,select,summary,[tabindex='0']")]
  .filter((element) => element.checkVisibility()).length`;

async function check_keyboard(client) {
  await evaluate(client, "window.tabbed = []; true");
  const wanted = await evaluate(client, reachable);
  for (let i = 0; i < wanted; ++i) {
    await press(client, "Tab", 9);
    await evaluate(client, "window.tabbed.push(document.activeElement); true");
  }
  const { count, sorted } = await evaluate(client, in_order);
  expect(count === wanted && sorted, `Tab visits ${wanted} elements in the order of the page`);
  const first = await evaluate(client, "window.tabbed[0].className");
  expect(first === "skip", "the first stop skips the navigation");
  if (!await evaluate(client, "Boolean(document.querySelector('figure'))")) return;
  await evaluate(client, "document.querySelector('figure').focus(); true");
  await press(client, "ArrowRight", 39);
  const readout = await evaluate(client, "document.querySelector('figure .readout').textContent");
  expect(readout !== "", `arrow keys read a chart: "${readout}"`);
}

const longest_table = `[...document.querySelectorAll("table")].reduce((a, b) =>
  Number(b.getAttribute("aria-rowcount")) > Number(a.getAttribute("aria-rowcount")) ? b : a)`;
const column_cells = (index) => `[...${longest_table}.querySelectorAll("tbody tr:not(.space)")]
  .map((row) => row.children[${index}].textContent).slice(0, 12)`;

async function check_table(client) {
  const names = await evaluate(client,
    `[...${longest_table}.querySelectorAll("th")].map((head) => head.textContent)`);
  let index = names.findIndex((name) => name.startsWith("TTFT"));
  if (index < 0) index = names.length - 1;
  const focus = `${longest_table}.querySelectorAll("th button")[${index}].focus(); true`;
  for (const [order, sign] of [["descending", -1], ["ascending", 1]]) {
    await evaluate(client, focus);
    await press(client, "Enter", 13);
    const sort = await evaluate(client,
      `${longest_table}.querySelectorAll("th")[${index}].getAttribute("aria-sort")`);
    const numbers = (await evaluate(client, column_cells(index)))
      .filter((text) => text !== "")
      .map((text) => Number(text.split(/ [([]/)[0].replaceAll(",", "")));  // without its interval
    if (numbers.length === 0 || numbers.some(Number.isNaN)) continue;  // a column of texts
    expect(sort === order, `${names[index]} is sorted ${order}: ${sort}`);
    expect(numbers.every((value, i) => i === 0 || sign * (value - numbers[i - 1]) >= 0),
      `${names[index]} ${order}: ${numbers.slice(0, 6)}`);
  }
  const scrolled = await evaluate(client, `(async () => {
    const table = ${longest_table}, scroller = table.parentElement;
    scroller.scrollTop = scroller.scrollHeight;
    await new Promise((done) => setTimeout(done, 200));
    const rows = table.querySelectorAll("tbody tr:not(.space)");
    return { shown: rows.length, last: Number(rows[rows.length - 1].getAttribute("aria-rowindex")),
      all: Number(table.getAttribute("aria-rowcount")) };
  })()`);
  expect(scrolled.last === scrolled.all, `the last of ${scrolled.all} rows can be reached`);
  expect(scrolled.shown < 200, `only rows in view are elements, not ${scrolled.shown}`);
}

/// What covers the middle of a link of the navigation, where the page shows it: only a part of the
/// navigation may.
const covered_links = `[...document.querySelectorAll("nav a")].flatMap((link) => {
  const box = link.getBoundingClientRect();
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  const is_fine = top === null || top === link || (top.closest("nav") && !top.closest("button"));
  return is_fine ? [] : [link.textContent + " under " + top.textContent.slice(0, 20)];
})`;
const cut_without_sign = `(() => {
  const list = document.querySelector("nav ul");
  return list.scrollWidth > list.clientWidth + 1 && getComputedStyle(list).maskImage === "none";
})()`;

async function check_navigation(client) {
  const covered = await evaluate(client, covered_links);
  expect(covered.length === 0, `the navigation lies free: ${covered}`);
  expect(!await evaluate(client, cut_without_sign), "a navigation that goes on beyond the edge says so");
}

/// Columns that readers come for and that are out of sight before anybody scrolls.
const columns_out_of_view = (wanted) => `[...document.querySelectorAll("table:not(.heat)")].flatMap((table) => {
  const edge = table.parentElement.getBoundingClientRect().right + 1;
  return [...table.querySelectorAll("th")].filter((head) => ${wanted}.test(head.textContent) &&
    head.getBoundingClientRect().right > edge).map((head) => head.textContent);
})`;
/// With what the row is of gone once one scrolls to the right.
const rows_without_name = `[...document.querySelectorAll("table.named")].filter((table) => {
  const scroller = table.parentElement;
  scroller.scrollLeft = scroller.scrollWidth;
  const cell = table.querySelector("tbody tr:not(.space) td");
  const is_gone = cell && cell.getBoundingClientRect().left < scroller.getBoundingClientRect().left - 1;
  scroller.scrollLeft = 0;
  return is_gone;
}).length`;

async function check_columns(client, view) {
  const wanted = view.width >= 1440 ? "/p99|cost/" : "/^cost/";
  const hidden = await evaluate(client, columns_out_of_view(wanted));
  expect(hidden.length === 0, `in view at ${view.width} pixels: ${hidden}`);
  expect(await evaluate(client, rows_without_name) === 0, "a row's name stays when its figures scroll");
  // A row in brackets below, as intervals are, takes the room of two.
  const cut = await evaluate(client, `[...document.querySelectorAll(".scroller")].filter((one) =>
    one.querySelector("table") && one.scrollHeight > one.clientHeight + 1 &&
    one.scrollHeight <= 600).length`);
  expect(cut === 0 || view.mobile, `${cut} tables of twenty rows or fewer have to be scrolled`);
}

/// What a roofline says of its roof where no kernel is near, against the roof itself.
async function check_roofline(client) {
  const roof = await evaluate(client, `(() => {
    const figure = [...document.querySelectorAll("figure")].find((one) =>
      one.querySelector("figcaption span").textContent === "Roofline");
    if (!figure) return null;
    figure.scrollIntoView({ block: "center" });
    figure.id = "roofline";
    const data = JSON.parse(document.getElementById("data").textContent);
    const lines = data.parts.find((part) => part.title === "Roofline").series.filter((one) => one.kind === "line");
    const { left, top, width, height } = figure.querySelector(".u-over").getBoundingClientRect();
    return { left, top, width, height, lines };
  })()`);
  if (roof === null) return;
  const shown = [];
  for (let i = 1; i < 16; ++i) {
    for (const place of [0.03, 0.97]) {
      await client.Input.dispatchMouseEvent({ type: "mouseMoved", x: roof.left + roof.width * i / 16,
        y: roof.top + roof.height * place });
      const text = await evaluate(client, "document.querySelector('#roofline .readout').textContent");
      const numbers = text.match(/^([\d.,]+) → .*?([\d.,]+)$/);
      if (numbers) shown.push(numbers.slice(1).map((one) => Number(one.replaceAll(",", ""))));
    }
  }
  await client.Input.dispatchMouseEvent({ type: "mouseMoved", x: 1, y: 1 });
  await evaluate(client, "scrollTo(0, 0); true");
  expect(shown.length >= 3, `the roof can be read: ${JSON.stringify(shown)}`);
  const last = roof.lines[roof.lines.length - 1];
  for (const [x, y] of shown) {
    const wanted = Math.min(last.y[0] / last.x[0] * x, last.y[1]);
    expect(Math.abs(y / wanted - 1) < 0.03, `the roof over ${x} flop/byte is ${wanted}, shown as ${y}`);
  }
}

/// Every figure along every key: something is drawn each time.
async function check_grid(client) {
  const answer = await evaluate(client, `(async () => {
    const grid = document.querySelector(".grid"), blank = [];
    if (!grid) return null;
    const select = (name) => grid.querySelector('[data-name="' + name + '"] select');
    const choose = async (name, value) => {
      const one = select(name);
      one.value = String(value);
      one.dispatchEvent(new Event("change"));
      // Charts draw before the next task; what the browser then makes of the whole page nobody looks at.
      await new Promise((done) => setTimeout(done));
    };
    const is_drawn = () => {
      const canvas = grid.querySelector("canvas");
      if (!canvas) return grid.querySelectorAll(".bar, .heat td").length > 0;
      return ${colours_of}(canvas) > 3;
    };
    const seen = new Set();
    for (let along = 0; along < (select("along")?.options.length ?? 1); ++along) {
      if (select("along")) await choose("along", along);
      for (let shape = 0; shape < (select("shape") ? 2 : 1); ++shape) {
        if (select("shape")) await choose("shape", shape);
        for (let figure = 0; figure < select("figure").options.length; ++figure) {
          await choose("figure", figure);
          seen.add(grid.querySelector("canvas") ? "chart" : grid.querySelector(".heat") ? "cells" : "bars");
          if (!is_drawn()) blank.push([along, shape, select("figure").options[figure].textContent]);
        }
      }
    }
    for (const name of ["shape", "figure", "along"]) if (select(name)) await choose(name, 0);
    return { blank, seen: [...seen] };
  })()`);
  if (answer === null) return;
  expect(answer.blank.length === 0, `nothing is drawn of ${JSON.stringify(answer.blank)}`);
  console.log(`  the grid was drawn as ${answer.seen.join(", ")}`);
}

/// The first and last rows against requests.csv, where the run wrote it.
async function check_cells(client, csv) {
  const [head, ...rows] = fs.readFileSync(csv, "utf8").trim().split("\n").map((line) => line.split(","));
  const [first, last] = await evaluate(client, `(async () => {
    const table = ${longest_table}, scroller = table.parentElement;
    const texts = (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent));
    const shown = () => [...table.querySelectorAll("tbody tr:not(.space)")];
    const first = texts(shown().slice(0, 10));
    scroller.scrollTop = scroller.scrollHeight;
    await new Promise((done) => setTimeout(done, 200));
    const last = texts(shown().slice(-10));
    scroller.scrollTop = 0;
    await new Promise((done) => setTimeout(done, 200));
    return [first, last];
  })()`);
  const names = await evaluate(client, `[...${longest_table}.querySelectorAll("th")]
    .map((head) => head.querySelector("button").firstChild.textContent.trim())`);
  const compare = (cells, row) => {
    for (const [name, column, scale] of [["request", "id", 1], ["arrival", "arrival_s", 1],
      ["TTFT", "ttft_ms", 1], ["TPOT", "tpot_ms", 1], ["end to end", "e2e_ms", 1e-3],
      ["prompt", "prompt_tokens", 1], ["output", "output_tokens", 1]]) {
      const text = cells[names.indexOf(name)].replaceAll(",", "");
      const wanted = Number(row[head.indexOf(column)]) * scale;
      const step = 10 ** -(text.split(".")[1]?.length ?? 0);
      expect(Math.abs(Number(text) - wanted) <= 0.51 * step,
        `${name} of request ${row[0]} is ${wanted}, shown as ${text}`);
    }
  };
  first.forEach((cells, i) => compare(cells, rows[i]));
  last.forEach((cells, i) => compare(cells, rows[rows.length - last.length + i]));
}

/// For somebody to look at: drawing pages of 7,000 pixels takes a tenth of a check.
async function keep_screenshot(client, view, name) {
  const { contentSize } = await client.Page.getLayoutMetrics();
  const { data } = await client.Page.captureScreenshot({ captureBeyondViewport: true,
    clip: { x: 0, y: 0, width: view.width, height: Math.min(7000, contentSize.height), scale: 1 } });
  fs.writeFileSync(path.join(folder, name), Buffer.from(data, "base64"));
}

/// What a page looks like, before anybody touches it.
async function check_looks(client, view, name) {
  const colours = await evaluate(client, canvas_colours);
  const others = await evaluate(client, "document.querySelectorAll('.grid, .bars').length");
  expect(colours.length + others > 0 || name.endsWith("_none"), "there are charts");
  const bars = await evaluate(client, `[...document.querySelectorAll(".bars")].map((box) =>
    Math.max(...[...box.querySelectorAll(".track i")].map((bar) => bar.clientWidth)))`);
  const squeezed = await evaluate(client, `[...document.querySelectorAll(".bars")].flatMap((box) =>
    [...(box.scrollWidth > box.clientWidth + 1 ? [box.firstChild] : []),
      ...[...box.querySelectorAll(".bar > span:first-child")].filter((one) => one.clientWidth < 60
        && one.clientHeight > 50)]).map((one) => one.textContent)`);
  expect(squeezed.length === 0, `names of bars have room: ${squeezed}`);
  bars.forEach((longest, i) => expect(longest > 20, `bars ${i + 1} are drawn (${longest} pixels)`));
  colours.forEach((count, i) => expect(count > 3, `chart ${i + 1} is drawn (${count} colours)`));
  const width = await evaluate(client, "document.documentElement.scrollWidth");
  expect(width <= view.width, `nothing is wider than ${view.width}, as ${width} is`);
  const [contrast, where] = await evaluate(client, least_contrast);
  expect(contrast >= 4.5, `contrast of "${where}" is ${contrast.toFixed(2)}, not 4.5`);
  if (folder) await keep_screenshot(client, view, `${name}_${view.name}.png`);
  await check_navigation(client);
  await check_columns(client, view);
}

/// What a reader does with it, however it is shown.
async function check_use(client) {
  await check_roofline(client);
  await check_table(client);
  await check_grid(client);
}

async function check(page, [view, ...later_views], port) {
  const target = await connect.New({ port });
  const client = await connect({ port, target });
  const problems = [], requests = [];
  try {
    const ready_ms = await open(client, page, view, problems, requests);
    const name = path.basename(page, ".html");
    console.log(`${name} ${view.name}: ${fs.statSync(page).size} bytes, ready after ${ready_ms} ms`);
    await check_looks(client, view, name);
    if (!view.mobile) await check_keyboard(client);
    const csv = page.replace(/\.html$/, "/requests.csv");
    if (fs.existsSync(csv)) await check_cells(client, csv);  // before the table is sorted
    await check_use(client);
    for (const later of later_views) {
      await show(client, later);
      await evaluate(client, next_frames);
      await check_looks(client, later, name);
      await check_use(client);
    }
    expect(problems.length === 0, `the console is silent: ${problems.join("\n")}`);
    const fetched = requests.filter((asked) => asked !== url.pathToFileURL(page).href);
    expect(fetched.length === 0, `nothing is fetched: ${fetched}`);
  } finally {
    await client.close();
    await connect.Close({ port, id: target.id });
  }
}

/// The browser's children may write for a moment longer than it lives.
async function remove_folder(folder) {
  for (let tries = 0; tries < 50; ++tries) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      await pause(200);
    }
  }
}

async function main() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "foretoken-page-"));
  const { browser, port } = start_browser(profile);
  try {
    for (const page of pages) {
      for (const device of devices) await check(page, device, await port);
    }
  } finally {
    browser.removeAllListeners("exit");
    const ended = new Promise((done) => browser.on("exit", done));
    browser.kill();
    await ended;
    await remove_folder(profile);
  }
  process.exit(failures > 0 ? 1 : 0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
