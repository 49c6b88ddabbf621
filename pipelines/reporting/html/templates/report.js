"use strict";
// Filters the loss cards by what the page says of them and by their own text. Without it the page shows all of them.
(() => {
  const entries = JSON.parse(document.getElementById("data").textContent).cards.map((facets) => ({
    facets,
    element: document.getElementById(facets.id),
    text: "",
  }));
  const form = document.getElementById("filter");
  const piles = [...document.querySelectorAll(".pile")];
  const plain = (text) => text.normalize("NFKC").toLowerCase();
  let waiting = 0;

  const matches = (entry, wanted, words) => {
    const facets = entry.facets;
    for (const name of ["candidate", "suite", "label", "domain"]) {
      if (wanted[name] && facets[name] !== wanted[name]) return false;
    }
    if (wanted.tag && !facets.tags.includes(wanted.tag)) return false;
    if (wanted.must_pass && !facets.must_pass) return false;
    if (!words.length) return true;
    entry.text ||= plain(entry.element.textContent);
    return words.every((word) => entry.text.includes(word));
  };

  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = plain(wanted.words).split(/\s+/u).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      const hit = matches(entry, wanted, words);
      entry.element.hidden = !hit;
      shown += hit;
    }
    for (const pile of piles) {
      const cards = [...pile.querySelectorAll(".card")];
      pile.hidden = cards.length > 0 && cards.every((card) => card.hidden);
    }
    document.getElementById("count").textContent = `${shown} of ${entries.length} cards`;
    document.getElementById("nothing").hidden = shown > 0 || !entries.length;
  };

  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.hidden = false;
  apply();

  const closed = new Set();
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      closed.add(part);
      part.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
    closed.clear();
  });
})();
