"use strict";
// Theme, contents and charts. `crest` is all that the explorer needs of it.
const crest = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 44rem)");
  const middle = matchMedia("(max-width: 70rem)");
  const coarse = matchMedia("(pointer: coarse)");
  const listeners = [];
  let paper = false;

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // What of a layout follows the theme: text, grid, the box beside the pointer.
  function themed(layout) {
    const change = {
      "font.color": css("--ink"),
      "font.family": css("--sans"),
      "hoverlabel.bgcolor": css("--wash"),
      "hoverlabel.bordercolor": css("--rule"),
      "hoverlabel.font.color": css("--ink"),
      "hoverlabel.align": "left",
      "modebar.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": css("--quiet"),
      "modebar.activecolor": css("--ink"),
      // A finger scrolls the page; only a mouse draws a box to zoom.
      dragmode: coarse.matches ? false : "zoom",
    };
    for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
      change[axis + ".gridcolor"] = css("--rule");
      change[axis + ".linecolor"] = css("--rule");
      change[axis + ".tickfont.color"] = css("--quiet");
    }
    return change;
  }

  function assign(target, change) {
    for (const [path, value] of Object.entries(change)) {
      const keys = path.split(".");
      const last = keys.pop();
      let place = target;
      for (const key of keys) place = place[key] ??= {};
      place[last] = value;
    }
    return target;
  }

  // A list of buttons, since plotly's own has one that sends the data away. None where there is no pointer to hover.
  const config = {
    displaylogo: false, responsive: true, displayModeBar: coarse.matches ? false : "hover",
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
  };

  // The legend takes what it needs, and the panels keep their height: the figure grows by the difference.
  function grown(div, panels) {
    const lacking = panels - div._fullLayout._size.h;
    if (Math.abs(lacking) > 2) return Plotly.relayout(div, { height: div._fullLayout.height + lacking });
    return Promise.resolve();
  }

  function arranged(div, figure) {
    const places = figure.layout.meta[narrow.matches ? "narrow" : middle.matches || paper ? "middle" : "wide"];
    const change = { ...places.change, height: places.height, uirevision: "kept", ...themed(figure.layout) };
    change["margin.l"] = narrow.matches ? 48 : 64;
    change["font.size"] = narrow.matches ? 12 : 13;
    // A colour for lines is too faint for small words.
    for (const shape of figure.layout.shapes ?? []) shape.label.font.color = css("--quiet");
    for (const bars of figure.data.filter((trace) => trace.type === "bar" && trace.error_y)) bars.error_y.color = css("--ink");
    return Plotly.react(div, figure.data, assign(figure.layout, change), config)
      .then(() => grown(div, places.panels))
      .then(() => { div.dataset.drawn = "yes"; div.style.minHeight = "0"; });
  }

  function watch(div) {
    const figure = JSON.parse(div.nextElementSibling.textContent);
    const draw = () => arranged(div, figure);
    draw();
    listeners.push(draw);
  }

  const waiting = new Set(document.querySelectorAll(".chart"));
  function drawNow(div) {
    if (!waiting.delete(div)) return;
    observer.unobserve(div);
    watch(div);
  }
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawNow(entry.target)),
    { rootMargin: "600px 0px" },
  );
  waiting.forEach((div) => observer.observe(div));

  const redraw = () => listeners.forEach((draw) => draw());
  const button = document.getElementById("theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Use ${isDark() ? "light" : "dark"} colours`); };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("crest-theme", root.dataset.theme); } catch (refused) { /* then for this visit only */ }
    label();
    redraw();
  });
  dark.addEventListener("change", () => { label(); redraw(); });
  narrow.addEventListener("change", redraw);
  middle.addEventListener("change", redraw);

  // Paper is white, and narrower than most windows: charts are drawn for it, and afterwards for the window again.
  let theme = "";
  function printing(on) {
    if (on && !paper) theme = root.dataset.theme ?? "";
    paper = on;
    root.dataset.theme = on ? "light" : theme;
    root.classList.toggle("paper", on);
    [...waiting].forEach(drawNow);
    redraw();
    // At once, and not by plotly's own listener: the browser takes the picture when this function returns.
    document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.relayout(plot, { autosize: true }));
  }
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  label();

  const contents = document.querySelector(".toc details");
  const small = matchMedia("(max-width: 68rem)");
  small.addEventListener("change", () => { contents.open = !small.matches; });
  contents.addEventListener("click", (event) => { if (event.target.closest("a") && small.matches) contents.open = false; });

  return { themed, assign, grown, config, css, narrow, onChange: (draw) => listeners.push(draw) };
})();
