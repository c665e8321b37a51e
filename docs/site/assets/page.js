// The list of pages is closed on a phone, and shows where the reader is.
if (matchMedia("(max-width: 50rem)").matches) document.querySelector("nav details").open = false;
document.querySelector("nav [aria-current]")?.scrollIntoView({block: "nearest"});

// The search lists the pages and sections that have every word of the query, titles first. index.js has set window.pages.
const root = new URL(".", document.currentScript.src).href; // this file is there
const query = document.getElementById("query");
const results = document.getElementById("results");
const shown = 12;

// find returns links with what follows the first word in the text.
function find(words) {
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  const found = [];
  for (const page of window.pages || []) {
    if (has(page.title)) found.push({rank: 0, title: page.title, url: page.url});
    for (const heading of page.headings) {
      if (has(heading.title)) found.push({rank: 1, title: `${page.title}: ${heading.title}`, url: `${page.url}#${heading.id}`});
    }
    if (!has(page.title) && has(page.text)) {
      const at = page.text.toLowerCase().indexOf(words[0]);
      found.push({rank: 2, title: page.title, url: page.url, text: page.text.slice(Math.max(0, at - 40), at + 80)});
    }
  }
  return found.sort((a, b) => a.rank - b.rank).slice(0, shown);
}

query.addEventListener("input", () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? find(words) : [];
  results.replaceChildren(...found.map(({title, url, text}) => {
    const link = document.createElement("a");
    link.href = root + url;
    link.textContent = title;
    const item = document.createElement("li");
    item.append(link);
    if (text) item.append(` …${text}…`);
    return item;
  }));
  if (words.length && !found.length) results.textContent = "No page has all of these words.";
  results.hidden = !words.length;
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== query) {
    event.preventDefault();
    query.focus();
  } else if (event.key === "Escape") {
    query.value = "";
    results.hidden = true;
    query.blur();
  } else if (event.key === "Enter" && document.activeElement === query) {
    results.querySelector("a")?.click();
  }
});
