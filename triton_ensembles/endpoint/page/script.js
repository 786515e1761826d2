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

const source = new EventSource("/-/live" + location.search);
source.onopen = () => { connection.textContent = "live"; connection.className = ""; };
source.onerror = () => { connection.textContent = "the server does not answer"; connection.className = "lost"; };
source.onmessage = (event) => {
  const fresh = live.cloneNode(false);
  fresh.innerHTML = JSON.parse(event.data);
  update(live, fresh);
};
