// What the site's search finds, by the theme's own script: node search.js HTML WORD... prints for each word, as JSON, null or the
// pages that it names first, three at most, and the words that are marked in what it shows of the first.
"use strict";
const fs = require("fs");
const path = require("path");
const html = process.argv[2];
const workers = path.join(html, "assets/javascripts/workers");
const script = fs.readdirSync(workers).find((name) => /^search\..*\.js$/.test(name));

// What a browser gives a worker.
let listener;
let answered;
globalThis.self = globalThis;
globalThis.addEventListener = (_, call) => { listener = call; };
globalThis.postMessage = (message) => answered(message);
console.warn = () => {};
const ask = (type, data) => new Promise((resolve) => {
  answered = resolve;
  listener({ data: { type, data } });
});

(async () => {
  (0, eval)(fs.readFileSync(path.join(workers, script), "utf8"));
  const index = JSON.parse(fs.readFileSync(path.join(html, "search/search_index.json"), "utf8"));
  await ask(0, { config: index.config, docs: index.docs, options: { suggest: false } });
  const found = {};
  for (const word of process.argv.slice(3)) {
    const items = (await ask(2, word)).data.items;
    const shown = items.length === 0 ? "" : items[0].map((item) => item.title + " " + item.text).join(" ");
    const marked = [...shown.matchAll(/<mark[^>]*>(.*?)<\/mark>/g)].map((match) => match[1].toLowerCase());
    found[word] = items.length === 0 ? null : [items.slice(0, 3).map((item) => item[0].location), marked];
  }
  console.log(JSON.stringify(found));
})();
