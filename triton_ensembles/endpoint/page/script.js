// Keeps the live part of the page up to date. Without it, the page is whole but still.
"use strict";
const live = document.getElementById("live");
const connection = document.getElementById("connection");

// Changes only what differs, so that focus, selection, scroll positions and open folds stay.
function update(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    const there = old.childNodes[at] ?? null;
    if (there && (there.id ?? "") === (node.id ?? "")) {
      update(there, node);
      return;
    }
    const moved = node.id ? old.querySelector(`:scope > #${CSS.escape(node.id)}`) : null;
    old.insertBefore(moved ?? node, there);
    if (moved) update(moved, node);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

// A page must not slow down what it shows: it rests five times as long as its last update took.
async function refresh() {
  const began = performance.now();
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    update(live, page.getElementById("live"));
    connection.textContent = "live";
    connection.className = "";
  } catch {
    connection.textContent = "the server does not answer";
    connection.className = "lost";
  }
  setTimeout(refresh, Math.max(1000, 5 * (performance.now() - began)));
}
refresh();
