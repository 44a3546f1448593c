"use strict";
// Pages work without this. With it, parts that have `data-live` and an id are read anew when something came.
(() => {
  const body = document.body;
  let isReading = false, isStale = false;

  async function refresh() {
    if (document.hidden || isReading) { isStale = true; return; }
    isReading = true; isStale = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname.endsWith("/sign-in")) { location.reload(); return; }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.title = page.title;
      for (const old of document.querySelectorAll("[data-live][id]")) {
        const fresh = page.getElementById(old.id);
        if (fresh && !old.isEqualNode(fresh)) swap(old, fresh);
      }
    } catch { isStale = true; } finally { isReading = false; }
  }

  // What is open, selected or focused inside stays so.
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

  if (document.querySelector("[data-live]")) {
    const source = new EventSource(body.dataset.liveFrom);
    source.addEventListener("changed", refresh);
    document.addEventListener("visibilitychange", () => { if (isStale) refresh(); });
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
})();
