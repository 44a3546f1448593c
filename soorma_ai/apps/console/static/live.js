"use strict";
// Pages work without this. With it, parts that have `data-live` and an id are read anew when something came, and keys
// lead to questions and answers.
(() => {
  const body = document.body;
  const here = document.querySelector("[data-here]")?.dataset.here || location.href;
  let isReading = false, isStale = false;

  async function refresh() {
    if (isReading) { isStale = true; return; }
    isReading = true;
    isStale = false;
    try {
      const answer = await fetch(here);
      if (answer.redirected && new URL(answer.url).pathname.endsWith("/sign-in")) { location.reload(); return; }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.title = page.title;
      for (const old of document.querySelectorAll("[data-live][id]")) {
        const fresh = page.getElementById(old.id);
        if (!fresh) old.classList.add("gone");
        else if (!old.isEqualNode(fresh)) swap(old, fresh);
      }
      // A question came where there was none: there is nothing that the page would lose.
      if (document.getElementById("pane") && !page.getElementById("pane")) location.reload();
    } catch {
      // It is read again with the next word of the stream, which ends and comes back as the server does.
    } finally {
      isReading = false;
      if (isStale && !document.hidden) refresh();
    }
  }

  // What is focused, open or scrolled to inside stays so.
  function swap(old, fresh) {
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
    const top = old.scrollTop;
    old.replaceWith(document.adoptNode(fresh));
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    fresh.scrollTop = top;
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    document.dispatchEvent(new CustomEvent("soorma:fresh", { detail: fresh }));
  }

  // A tab that nobody looks at holds no stream. What a new one says first is to read the page anew.
  function follow() {
    let source = null;
    const open = () => {
      if (document.hidden || (source && source.readyState !== EventSource.CLOSED)) return;
      source = new EventSource(body.dataset.liveFrom);
      source.addEventListener("changed", refresh);
      // A browser asks again by itself after a break, and never after a refusal.
      source.addEventListener("error", ({ target }) => {
        if (target.readyState === EventSource.CLOSED) setTimeout(open, 10_000);
      });
    };
    const close = () => { source?.close(); source = null; };
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    open();
  }

  function step(by) {
    const rows = [...document.querySelectorAll(".queue a.row")];
    const at = rows.findIndex((one) => one === document.activeElement || one.hasAttribute("aria-current"));
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (next && !next.hasAttribute("aria-current")) next.click();
  }

  // A key leads to a button and never presses it.
  function lead(id) {
    const target = document.getElementById(id);
    if (!target) return;
    const folded = target.closest("details");
    if (folded) folded.open = true;
    target.focus();
    target.scrollIntoView({ block: "center" });
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    a: () => lead(document.getElementById("approve") ? "approve" : "respond"),
    e: () => lead(document.querySelector("#change input:not([type=hidden]), #change select, #change textarea")?.id),
    r: () => lead("note"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (act && document.querySelector(".queue")) { event.preventDefault(); act(); }
  });

  // Opens fields in place; without this the server sends the page with them.
  document.addEventListener("click", (event) => {
    if (!event.target.matches("button[data-opens]")) return;
    event.preventDefault();
    keys.e();
  });

  // A page opened by a link has no session, and so no stream.
  const every = document.querySelector("[data-every]")?.dataset.every;
  if (every) setInterval(() => { if (!document.hidden) refresh(); }, every * 1000);
  else if (document.querySelector("[data-live]")) follow();
})();
