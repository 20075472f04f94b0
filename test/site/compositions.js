// node compositions.js TREE: what the chooser makes of each answer, and of each pair of answers to two questions, as JSON; the
// other questions keep their defaults.
"use strict";

const fs = require("fs");
const path = require("path");

const tree = process.argv[2];
const chooser = require(path.resolve(tree, "docs/site/chooser.js"));
const data = JSON.parse(fs.readFileSync(path.join(tree, "docs/site/chooser.json"), "utf8"));
const found = new Map();

function add(choice) {
  const one = chooser.compose(data, choice);
  found.set(JSON.stringify(one.choice), one);
}

for (const product of data.products) {
  const questions = chooser.asked(data, product);
  add({product: product.id});
  questions.forEach((first, at) => {
    for (const a of first.answers) {
      add({product: product.id, [first.id]: a.id});
      for (const second of questions.slice(at + 1))
        for (const b of second.answers) add({product: product.id, [first.id]: a.id, [second.id]: b.id});
    }
  });
}
process.stdout.write(JSON.stringify([...found.values()]));
