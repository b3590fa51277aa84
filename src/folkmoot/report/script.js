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

  // What is folded away has no width in some browsers: it is drawn as wide as it will about be, for paper, and again
  // when it is unfolded.
  const guess = (place) => {
    const whole = place.closest("section, main").clientWidth;
    const halved = place.closest(".columns") && whole > 800;
    return Math.max(halved ? whole / 2 - 22 : whole, 200);
  };
  const draw = async (name) => {
    const chart = charts[name];
    const spec = { ...((phone.matches && chart.narrow) || chart.wide) };
    if (chart.datasets) spec.datasets = chart.datasets;
    const place = document.getElementById(`chart-${name}`);
    const flat = spec.width === "container" && !place.clientWidth;
    if (flat) spec.width = guess(place);
    await vegaEmbed(place, spec, options);
    place.dataset.drawn = flat ? "guessed" : "yes";
  };

  const root = document.documentElement;
  Promise.all(Object.keys(charts).map(draw)).then(() => (root.dataset.charts = "drawn"));
  phone.addEventListener("change", () => Object.keys(charts).filter((name) => charts[name].narrow).forEach(draw));
  for (const part of document.querySelectorAll("details")) {
    part.addEventListener("toggle", () => {
      if (!part.open) return;
      for (const place of part.querySelectorAll("[data-drawn=guessed]")) draw(place.id.slice("chart-".length));
      dispatchEvent(new Event("resize")); // charts that are as wide as their column look at it again
    });
  }

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

  // A page from a disk may not have the clipboard: then the command is selected, and copied as a person would.
  const copy = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(code);
      return document.execCommand("copy");
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      button.textContent = (await copy(button.parentElement.querySelector("code"))) ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // An address with a section's name shows that section, unfolded.
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    for (const part of target.querySelectorAll(":scope > details")) part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

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
