// What helps to read: the meaning of words, verdicts by kind, tables that say where they go on.
(() => {
  // A word's meaning beside it: on hover, on focus, by tap. Without this script the word is a link to the list.
  const box = document.getElementById("meaning");
  let shownFor = null;
  function hide() {
    if (box) box.hidden = true;
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
  }
  function show(word) {
    const entry = document.getElementById(word.hash.slice(1));
    if (!box || !entry) return;
    hide();
    shownFor = word;
    box.textContent = entry.querySelector("dd").textContent;
    box.hidden = false;
    word.setAttribute("aria-describedby", "meaning");
    const place = word.getBoundingClientRect();
    const left = Math.max(8, Math.min(place.left, document.documentElement.clientWidth - box.offsetWidth - 8));
    const below = place.bottom + 6 + box.offsetHeight <= innerHeight;
    box.style.left = left + "px";
    box.style.top = (below ? place.bottom + 6 : Math.max(8, place.top - 6 - box.offsetHeight)) + "px";
  }
  const word = (event) => event.target.closest?.("a.term");
  document.addEventListener("mouseover", (event) => { if (word(event)) show(word(event)); });
  document.addEventListener("mouseout", (event) => { if (word(event) && document.activeElement !== word(event)) hide(); });
  document.addEventListener("focusin", (event) => { if (word(event)) show(word(event)); else hide(); });
  document.addEventListener("click", (event) => {
    if (word(event)) { event.preventDefault(); show(word(event)); } else hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });

  // Claims by verdict.
  const buttons = [...document.querySelectorAll(".filters button")];
  const claims = [...document.querySelectorAll(".claims > li")];
  function choose(button) {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
    for (const claim of claims) claim.hidden = Boolean(button.dataset.shows) && claim.dataset.verdict !== button.dataset.shows;
    document.getElementById("shown").textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} shown`;
  }
  for (const button of buttons) button.addEventListener("click", () => choose(button));

  // A link to a claim or into a folded table unfolds what it leads to.
  function unfold() {
    const target = location.hash.startsWith("#claim-") && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.hidden) choose(buttons[0]);
    target.querySelector("details").open = true;
    target.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

  // A shadow on the side where a table goes on.
  for (const table of document.querySelectorAll(".scroll")) {
    const mark = () => {
      table.toggleAttribute("data-left", table.scrollLeft > 2);
      table.toggleAttribute("data-right", table.scrollLeft + table.clientWidth < table.scrollWidth - 2);
    };
    table.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(table);
  }
})();
