"use strict";
// What the page does beyond being read: filters, figures of a mark on hover and by keyboard, charts and tables as files. Without it
// everything is shown.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const make = (name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // ---- Filters ----
  const filter = byId("filter");
  const selects = { repository: byId("filter-repository"), workload: byId("filter-workload") };
  const boxes = new Map();

  const values = (key) => [...new Set(all(`[data-${key}]`).map((element) => element.dataset[key]))];

  const setUpFilters = () => {
    for (const [key, select] of Object.entries(selects)) {
      const names = values(key);
      for (const name of names) {
        const option = make("option", name);
        option.value = name;
        select.append(option);
      }
      select.parentElement.classList.toggle("gone", names.length < 2);
      select.addEventListener("change", apply);
    }
    for (const name of values("variant")) {
      const [label, box] = [make("label"), make("input")];
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", apply);
      label.append(box, ` ${name}`);
      byId("filter-variants").append(label);
      boxes.set(name, box);
    }
    byId("filter-reset").addEventListener("click", () => {
      for (const select of Object.values(selects)) select.value = "";
      for (const box of boxes.values()) box.checked = true;
      apply();
    });
    filter.addEventListener("submit", (event) => event.preventDefault());
    filter.hidden = boxes.size === 0 && Object.keys(selects).every((key) => values(key).length < 2);
    apply();
  };

  const apply = () => {
    for (const element of all("main [data-repository], main [data-workload]")) {
      const isOut = (key) => selects[key].value !== "" && key in element.dataset && element.dataset[key] !== selects[key].value;
      element.classList.toggle("gone", isOut("repository") || isOut("workload"));
    }
    for (const element of all("[data-variant]")) {
      const isOut = boxes.has(element.dataset.variant) && !boxes.get(element.dataset.variant).checked;
      element.classList.toggle(element.closest("svg") ? "off" : "gone", isOut);
    }
    const shown = [...boxes.values()].filter((box) => box.checked).length;
    const state = [selects.repository.value, selects.workload.value].filter((name) => name !== "");
    if (state.length === 0) state.push("everything");
    if (shown < boxes.size) state.push(`${shown} of ${boxes.size} variants`);
    byId("filter-state").textContent = state.join(", ");
    hideTip();
  };

  // ---- A mark's figures ----
  const tip = byId("tip");
  let current = null;

  const lines = (mark) => (mark.dataset.tip || "").split("\n").filter((line) => line !== "");

  const hideTip = () => {
    tip.hidden = true;
    if (current) current.classList.remove("on");
    current = null;
  };

  const showTip = (mark) => {
    hideTip();
    current = mark;
    tip.replaceChildren(...lines(mark).map((line) => make("div", line)));
    tip.hidden = false;
    place();
  };

  // Above the mark, or below where there is no room; never beyond the window's edges.
  const place = () => {
    if (!current) return;
    const [of, box] = [current.getBoundingClientRect(), tip.getBoundingClientRect()];
    const left = Math.max(8, Math.min(of.left + of.width / 2 - box.width / 2, document.documentElement.clientWidth - box.width - 8));
    const above = of.top - box.height - 8;
    const below = Math.min(of.bottom + 8, window.innerHeight - box.height - 8);
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above < 8 ? below : above)}px)`;
  };

  const visibleMarks = (chart) =>
    all(".mark[data-tip]", chart).filter((mark) => !mark.classList.contains("off") && mark.getClientRects().length > 0);

  const stepTo = (chart, mark, marks) => {
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    showTip(mark);
    mark.classList.add("on");
    chart.step = mark;
    byId("spoken").textContent = `${lines(mark).join(", ")} (${marks.indexOf(mark) + 1} of ${marks.length})`;
  };

  const onKey = (chart, event) => {
    const marks = visibleMarks(chart);
    const at = marks.indexOf(chart.step);
    const to = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: marks.length - 1,
    }[event.key];
    if (event.key === "Escape") hideTip();
    if (to === undefined || marks.length === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    stepTo(chart, marks[Math.max(0, Math.min(marks.length - 1, to))], marks);
  };

  const setUpCharts = () => {
    // The browser's own tooltips would stand beside ours.
    for (const title of all(".mark > title")) title.remove();
    for (const chart of all(".drawing")) {
      if (!chart.querySelector(".mark[data-tip]")) continue;
      chart.tabIndex = 0;
      chart.setAttribute("role", "group");
      chart.setAttribute("aria-roledescription", "chart");
      chart.setAttribute("aria-label", `${chart.dataset.title}. Arrow keys step through the marks.`);
      chart.addEventListener("keydown", (event) => onKey(chart, event));
      chart.addEventListener("blur", hideTip);
      chart.addEventListener("focus", () => {
        const marks = visibleMarks(chart);
        if (marks.length > 0 && chart.matches(":focus-visible")) stepTo(chart, marks.includes(chart.step) ? chart.step : marks[0], marks);
      });
    }
    // When the page moves under a mouse that rests, browsers say that it came upon something; who uses the keyboard means the keyboard.
    let rested = "";
    document.addEventListener("pointerover", (event) => {
      const place = `${event.screenX} ${event.screenY}`;
      if (place === rested) return;
      rested = place;
      const mark = event.target instanceof Element && event.target.closest(".drawing .mark[data-tip]");
      if (mark) showTip(mark);
      else if (current) hideTip();
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
    window.addEventListener("scroll", place, { passive: true });
  };

  // ---- Files ----
  const save = (name, blob) => {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  /** The chart that is shown, as a document of its own. */
  const standalone = (figure, style) => {
    const shown = all(".drawing svg", figure).find((svg) => svg.getClientRects().length > 0);
    const svg = shown.cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(/[\s,]+/).map(Number);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const element = document.createElementNS("http://www.w3.org/2000/svg", "style");
    element.textContent = `${style}\n.mark.off{opacity:.08}`;
    svg.prepend(element);
    for (const mark of all(".mark", svg)) {
      mark.classList.remove("on");
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = mark.dataset.tip;
      mark.prepend(title);
    }
    return { width, height, text: new XMLSerializer().serializeToString(svg) };
  };

  const saveSvg = (figure) => {
    const { text } = standalone(figure, byId("chart-style").textContent);
    save(`${figure.id}.svg`, new Blob([text], { type: "image/svg+xml" }));
  };

  /** On white, in the colours of a light page, whatever this one looks like: pictures go into documents. */
  const savePng = async (figure) => {
    const rules = [...byId("chart-style").sheet.cssRules].filter((rule) => !(rule instanceof CSSMediaRule));
    const { width, height, text } = standalone(figure, rules.map((rule) => rule.cssText).join("\n"));
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    const image = new Image(width, height);
    image.src = url;
    await image.decode();
    const canvas = make("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => blob && save(`${figure.id}.png`, blob), "image/png");
  };

  /** RFC 4180. A cell that a spreadsheet would take for a formula is text. */
  const saveCsv = (figure) => {
    const cell = (element) => {
      let text = element.textContent.replace(/[\u2007\u2008]/g, "").trim();
      if (/^[=+\-@]/.test(text) && !/^[+-]?[\d.,]+( ?%)?$/.test(text) && text !== "-") text = `'${text}`;
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = all("tr", figure.querySelector("table")).filter((row) => !row.classList.contains("gone"));
    const text = rows.map((row) => `${[...row.cells].map(cell).join(",")}\r\n`).join("");
    save(`${figure.id}.csv`, new Blob([text], { type: "text/csv;charset=utf-8" }));
  };

  const setUpFiles = () => {
    for (const buttons of all(".buttons")) buttons.hidden = false;
    for (const button of all("button[data-save]")) {
      const figure = button.closest("figure");
      button.addEventListener("click", () => ({ svg: saveSvg, png: savePng, csv: saveCsv })[button.dataset.save](figure));
    }
  };

  // ---- Folded sections ----
  const unfold = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

  /** A link to something in a folded section opens it, and so does an address that ends in one. */
  const setUpFolds = () => {
    for (const link of all('a[href^="#"]')) {
      link.addEventListener("click", () => unfold(byId(link.hash.slice(1))));
    }
    window.addEventListener("beforeprint", () => all("details.fold").forEach(unfold));
    const target = location.hash && byId(location.hash.slice(1));
    if (!target) return;
    unfold(target);
    target.scrollIntoView();
  };

  setUpFilters();
  setUpFolds();
  setUpCharts();
  setUpFiles();
})();
