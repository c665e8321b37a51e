// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// The pages are complete without this script. It moves through the tree by keys, opens what is chosen without leaving the place,
// and loads the content again when the server says that something has changed.
"use strict";

const link = document.getElementById("link");
let latest = 0;

function items() { return [...document.querySelectorAll("[role=treeitem]")]; }

// Of a tree, the Tab key reaches one item, and arrows the others.
function prepare() {
  const all = items();
  const chosen = all.find((one) => one.getAttribute("aria-selected") === "true") ?? all[0];
  for (const one of all) {
    one.tabIndex = one === chosen ? 0 : -1;
    one.firstElementChild.tabIndex = -1;
  }
}

function focus(item) {
  for (const one of items()) one.tabIndex = one === item ? 0 : -1;
  item.focus();
}

// load replaces the content, and keeps the focus, what is typed and how far it is scrolled.
async function load(address, tell) {
  const mine = ++latest;
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(response.statusText);
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  if (mine !== latest) return;
  const active = document.activeElement;
  const id = active.id;
  const href = active.getAttribute("href");
  const typed = id === "filter" ? [active.value, active.selectionStart, active.selectionEnd] : null;
  const isInside = document.getElementById("content").contains(active);
  const scrolled = document.querySelector(".why")?.scrollTop ?? 0;
  const drawn = document.querySelector(".drawing")?.scrollLeft ?? 0;
  const content = next.getElementById("content");
  document.getElementById("content").replaceWith(content);
  document.title = next.title;
  prepare();
  if (isInside) {
    const again = (id && document.getElementById(id)) || (href && [...content.querySelectorAll("a")].find((a) => a.getAttribute("href") === href)) || content;
    if (again.role === "treeitem") focus(again); else again.focus({ preventScroll: true });
    if (typed) { again.value = typed[0]; again.setSelectionRange(typed[1], typed[2]); }
  }
  const drawing = document.querySelector(".drawing");
  if (drawing) drawing.scrollLeft = drawn;
  const why = document.querySelector(".why");
  if (why && !tell) why.scrollTop = scrolled;
  if (tell) document.getElementById("said").textContent = document.getElementById("why-title")?.textContent ?? "";
}

function choose(item) {
  const address = item.firstElementChild.href;
  focus(item);
  history.pushState(null, "", address);
  load(address, true).catch(() => location.assign(address));
}

document.addEventListener("click", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  choose(item);
});

document.addEventListener("keydown", (event) => {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
  const all = items();
  const at = all.indexOf(item);
  const level = (one) => Number(one.getAttribute("aria-level"));
  let to;
  switch (event.key) {
    case "ArrowDown": to = all[at + 1]; break;
    case "ArrowUp": to = all[at - 1]; break;
    case "Home": to = all[0]; break;
    case "End": to = all.at(-1); break;
    case "ArrowLeft": to = all.slice(0, at).findLast((one) => level(one) < level(item)); break;
    case "ArrowRight": if (all[at + 1] && level(all[at + 1]) > level(item)) to = all[at + 1]; break;
    case "Enter": case " ": choose(item); break;
    default: return;
  }
  event.preventDefault();
  if (to) focus(to);
});

window.addEventListener("popstate", () => load(location.href, true).catch(() => location.reload()));

// A page that is not seen has no stream, of which a browser opens six at most.
let stream;
function follow() {
  stream?.close();
  stream = undefined;
  if (document.hidden) return;
  stream = new EventSource("events");
  const renew = () => load(location.href, false).then(
    () => { link.textContent = "Live"; link.className = "quiet"; },
    () => { link.textContent = "Not live: fairlead ui does not answer"; link.className = "failed health"; });
  stream.onopen = renew;
  stream.addEventListener("change", renew);
  stream.onerror = () => { link.textContent = "Not live: fairlead ui does not answer"; link.className = "failed health"; };
}
document.addEventListener("visibilitychange", follow);
prepare();
follow();
