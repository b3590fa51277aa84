"use strict";
(() => {
  // Colours are CSS variables, so light, dark and print need no redrawing. A map has another layout for phones.
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const phone = matchMedia("(max-width: 600px)");
  const options = {
    actions: false,
    ast: true, // expressions are interpreted: the page's policy allows no code made from text
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true, theme: "folkmoot" },
  };

  const draw = async (name) => {
    const chart = charts[name];
    const spec = { ...((phone.matches && chart.narrow) || chart.wide) };
    if (chart.datasets) spec.datasets = chart.datasets;
    const place = document.getElementById(`chart-${name}`);
    await vegaEmbed(place, spec, options);
    place.dataset.drawn = "yes";
  };

  const root = document.documentElement;
  Promise.all(Object.keys(charts).map(draw)).then(() => (root.dataset.charts = "drawn"));
  phone.addEventListener("change", () => Object.keys(charts).filter((name) => charts[name].narrow).forEach(draw));

  // Tables sort by the number or the word behind a cell, not by what is shown; a second press turns the order.
  const ordered = (first, second) => {
    const numbers = [Number(first), Number(second)];
    if (first !== "" && second !== "" && numbers.every(Number.isFinite)) return numbers[0] - numbers[1];
    return first.localeCompare(second);
  };
  const key = (row, at) => row.cells[at].dataset.key ?? row.cells[at].textContent.trim();
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].sort((a, b) => ordered(key(a, at), key(b, at)));
        table.tBodies[0].append(...(falling ? rows.reverse() : rows));
      });
    });
  }

  // Paper cannot be unfolded.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
  });
})();
