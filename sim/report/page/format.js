// Numbers as people read them, and small elements.
const grouping = new Map();
function fixed(value, decimals) {
  if (!grouping.has(decimals)) {
    grouping.set(decimals, new Intl.NumberFormat("en-US",
      { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  }
  return grouping.get(decimals).format(value);
}

/// Three significant digits, whole from 100 up: 0.0123, 1.23, 1,234.
function brief(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(2);
  return fixed(value, size >= 100 ? 0 : Math.min(6, 2 - Math.floor(Math.log10(size))));
}

/// With all its digits: a value that somebody wrote.
function fixed_as_is(value) {
  return Math.abs(value) >= 1e9 ? brief(value) : value.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/// A tick of an axis whose ticks are `step` apart: as many decimals as it takes to tell them apart.
function tick(value, step, share) {
  if (share) return `${tick(value * 100, step * 100, false)} %`;
  const size = Math.abs(value);
  if (size >= 1e9) return `${brief(value / 1e9)} G`;
  if (size >= 1e6) return `${brief(value / 1e6)} M`;
  let decimals = 0;
  for (let scaled = step; decimals < 6 && Math.abs(scaled - Math.round(scaled)) > 1e-6; scaled *= 10) {
    ++decimals;
  }
  return fixed(value, decimals);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/// What bounds a kernel has one colour wherever it shows up.
const known_colours = { tensor: 0, dram: 1, network: 2, fma: 3, launch: 7, l2: 4, xu: 6, shared: 5,
  host: 9, draft: 8 };
function colour_name(name, index) {
  return `--c${known_colours[name] ?? index % 10}`;
}
