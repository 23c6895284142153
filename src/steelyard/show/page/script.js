// Draws the figures of the page. Nothing is evaluated (Vega's interpreter runs the expressions) and nothing is loaded.
const tip = document.getElementById("tip");
const refuse = () => Promise.reject(new Error("this page loads nothing"));
const nothing = { load: refuse, sanitize: refuse, http: refuse, file: refuse };

function hover(_handler, event, _item, value) {
  if (value == null || value === "") { tip.style.visibility = "hidden"; return; }
  tip.textContent = String(value);
  tip.style.visibility = "visible";
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = event.clientY + 16;
  const top = below + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = top + "px";
}

// On linear axes the round numbers of a log axis would crowd near zero: Vega chooses new ones.
function linear(node) {
  if (Array.isArray(node)) return node.map(linear);
  if (node === null || typeof node !== "object") return node;
  const copy = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "datasets") copy[key] = value;
    else copy[key] = linear(value);
  }
  if (copy.scale && (copy.scale.type === "log" || copy.scale.type === "symlog")) {
    copy.scale = { ...copy.scale, type: "linear", zero: true };
    if (copy.axis) delete copy.axis.values;
  }
  return copy;
}

// Where there is no room for figures in words beside a row, the marks need it more; the table has them all.
// Names of rows take two lines there.
const twoLines = (text) => `trim(replace(${text}, regexp('(.{1,21})( +|$)', 'g'), '$1\\n'))`;
function narrow(node, width) {
  if (Array.isArray(node)) {
    return node.filter((one) => !(one && one.data && one.data.name === "words")).map((one) => narrow(one, width));
  }
  if (node === null || typeof node !== "object") return node;
  const copy = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "datasets") copy[key] = value;
    else if (key === "labelLimit") copy[key] = Math.min(value, Math.round(width * 0.45));
    else if (key === "labelExpr" && value.includes("indexof(datum.value")) {
      copy[key] = twoLines(value);
      copy.labelOffset = { condition: { test: `indexof(${twoLines(value)}, '\\n') >= 0`, value: -6 }, value: 0 };
    }
    else if (key === "height" && node.datasets && !node.datasets.lines) copy[key] = Math.round(value * 1.5);
    else copy[key] = narrow(value, width);
  }
  return copy;
}

async function draw(figure) {
  // Not the image itself: Vega would give it another role.
  const place = figure.querySelector(".chart > div");
  const spec = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const names = new Set();
  let part = 0;
  let result = null;
  async function show(wanted) {
    if (result) result.finalize();
    result = await vegaEmbed(place, place.clientWidth < 560 ? narrow(wanted, place.clientWidth) : wanted, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, loader: nothing, tooltip: hover, logLevel: 1,
    });
    if (spec.params.some((one) => one.name === "part")) result.view.signal("part", part);
    await result.view.signal("picked", [...names]).runAsync();
  }
  await show(spec);
  const parts = figure.querySelectorAll("button[data-part]");
  for (const button of parts) {
    button.addEventListener("click", () => {
      part = Number(button.dataset.part);
      for (const other of parts) other.setAttribute("aria-pressed", String(other === button));
      result.view.signal("part", part).runAsync();
    });
  }
  for (const button of figure.querySelectorAll("button[data-series]")) {
    button.addEventListener("click", () => {
      const name = button.dataset.series;
      if (names.has(name)) names.delete(name); else names.add(name);
      button.setAttribute("aria-pressed", String(names.has(name)));
      result.view.signal("picked", [...names]).runAsync();
    });
  }
  const scale = figure.querySelector("button.scale");
  if (scale) scale.addEventListener("click", async () => {
    const pressed = scale.getAttribute("aria-pressed") !== "true";
    scale.setAttribute("aria-pressed", String(pressed));
    await show(pressed ? linear(spec) : spec);
  });
}

// A figure inside a closed fold has no width yet: it is drawn when the fold is opened, or before printing.
async function drawAll(within) {
  for (const figure of within.querySelectorAll("figure[data-figure]:not([data-drawn])")) {
    if (figure.closest("details:not([open])")) continue;
    figure.dataset.drawn = "yes";
    await draw(figure);
  }
}
document.addEventListener("toggle", (event) => { if (event.target.open) drawAll(event.target); }, true);
drawAll(document).then(() => { document.documentElement.dataset.ready = "yes"; });
