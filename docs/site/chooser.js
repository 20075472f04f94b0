// The chooser: from answers to a composition. compose() is all of it that thinks; the rest shows it. Data: chooser.json, and what
// chooser_data.py reads from the headers and docs/rules.md.
"use strict";

const tarnChooser = (() => {
  const answerOf = (question, choice) => question.answers.find((one) => one.id === choice[question.id]) || question.answers[0];
  const asked = (data, product) => data.questions.filter((question) => question.axis !== "size" || product.sized);

  // The product over the policies, each in a line of its own; `before` stands in front of the first.
  function typeOf(product, policies, before) {
    if (policies.length === 0 && product.empty) return product.empty;
    if (policies.length === 0) return product.type.replace(", {}", "").replace("{}", "");
    const margin = " ".repeat(before.length + product.type.indexOf("{"));
    return product.type.replace("{}", policies.join(",\n" + margin));
  }

  const order = "struct order {\n  long number;\n  double price;\n};\n";
  const bodies = {
    pool: (type, values) => ({
      before: `${order}\nusing order_pool = ${type};\n`,
      main: [`order_pool orders${values};`, "void* const block = orders.allocate();", "orders.deallocate(block);"],
    }),
    static_pool: (type) => ({
      before: `${order}\nusing order_pool = ${type};\n`,
      main: ["auto& orders = order_pool::instance();", "void* const block = orders.allocate();", "orders.deallocate(block);"],
    }),
    object_pool: (type, values) => ({
      before: `${order}\nusing order_pool = ${type};\n`,
      main: [`order_pool orders${values};`, "order* const o = orders.construct(1L, 9.5);", "orders.destroy(o);"],
    }),
    class_new: (type) => ({
      before: `struct message {\n  long number = 0;\n  char text[56] = {};\n  ${type}\n};\n`,
      main: ["delete new message;"],
    }),
    containers: (type) => ({
      before: `using int_list = ${type === "tarn::stl_allocator<int>" ? "tarn::list<int>" : `tarn::list<int, ${type}>`};\n`,
      main: ["int_list numbers;", "numbers.push_back(1);"],
    }),
    size_class_pool: (type, values) => ({
      before: `using block_pool = ${type};\n`,
      main: [`static block_pool blocks${values};`, "void* const block = blocks.allocate(100);", "blocks.deallocate(block, 100);"],
    }),
  };
  const lineBefore = {pool: "using order_pool = ", static_pool: "using order_pool = ", object_pool: "using order_pool = ",
                      class_new: "  ", containers: "using int_list = tarn::list<int, ", size_class_pool: "using block_pool = "};

  function code(product, policies, values, headers) {
    const named = values.length ? `{${values.join(", ")}}` : "";
    const parts = bodies[product.id](typeOf(product, policies, lineBefore[product.id]), named);
    const standard = values.some((one) => one.includes("std::pmr")) ? ["#include <memory_resource>"] : [];
    const bytes = values.some((one) => one.includes("memory}")) ? ["#include <cstddef>"] : [];
    const includes = [...bytes, ...standard].join("\n");
    const own = headers.map((one) => `#include "${one}"`).join("\n");
    const memory = bytes.length ? "alignas(64) static std::byte memory[1 << 20];\n\n" : "";
    return `${includes}${includes ? "\n\n" : ""}${own}\n\n${parts.before}\n${memory}int main() {\n  ${parts.main.join("\n  ")}\n}\n`;
  }

  // Whether a conflict's conditions hold: {question: [answers]}, all of them; "product" is one.
  function holds(conditions, choice) {
    return Object.entries(conditions).every(([question, answers]) => answers.includes(choice[question]));
  }

  /// choice: {product: id, question's id: answer's id}; what is left out is the first answer.
  function compose(data, choice) {
    const product = data.products.find((one) => one.id === choice.product) || data.products[0];
    const questions = asked(data, product);
    const whole = {product: product.id};
    for (const question of questions) whole[question.id] = answerOf(question, choice).id;
    const answers = questions.map((question) => answerOf(question, whole));
    const policies = answers.filter((one) => one.policy).map((one) => one.policy);
    const values = answers.filter((one) => one.value).map((one) => one.value);
    const headers = [product.header, ...answers.filter((one) => one.header).map((one) => one.header)];
    const broken = data.conflicts.find((one) => holds(one.when, whole));
    return {choice: whole, type: typeOf(product, policies, ""), headers, policies,
            rule: broken ? broken.rule : null, code: code(product, policies, values, headers)};
  }

  return {compose, asked};
})();

if (typeof module !== "undefined") module.exports = tarnChooser;

// ---- what is shown

function tarnShowChooser(root, data) {
  const choice = {product: data.products[0].id};
  const make = (tag, text, ...inside) => {
    const one = document.createElement(tag);
    if (text) one.textContent = text;
    one.append(...inside);
    return one;
  };

  // A group of radio buttons: the arrow keys move in it, Tab to the next one.
  function group(id, text, answers) {
    const set = make("fieldset", "", make("legend", text));
    for (const answer of answers) {
      const button = make("input");
      Object.assign(button, {type: "radio", name: id, value: answer.id, checked: choice[id] === answer.id});
      if (!(id in choice) && answer === answers[0]) button.checked = true;
      button.addEventListener("change", () => {
        choice[id] = answer.id;
        id === "product" ? showAll() : showResult();
      });
      set.append(make("label", "", button, make("span", answer.text)));
    }
    return set;
  }

  const questions = make("div");
  const result = make("div");
  result.setAttribute("aria-live", "polite");
  questions.className = "chooser-questions";
  result.className = "chooser-result";
  root.replaceChildren(questions, result);

  function costs(found) {
    const list = make("ul");
    for (const question of data.questions)
      for (const answer of question.answers)
        if (answer.id === found.choice[question.id] && answer.policy)
          list.append(make("li", "", make("code", answer.policy.replace(/^tarn::/, "")), ": " + answer.costs));
    return list.children.length ? list : make("p", "Nothing: these are the defaults.");
  }

  function warning(conflict) {
    const link = make("a", conflict.rule);
    link.href = "rules.html#" + conflict.anchor;
    const box = make("div", "", make("p", "These answers can't be combined, and the compiler says so:"),
                     make("p", "", link, ": " + conflict.says));
    box.className = "chooser-warning";
    return box;
  }

  // The code with the theme's colours: a directive, a comment, a string, a number, a word of the language.
  function coloured(text) {
    const kinds = [["cp", /^#.*/m], ["c1", /\/\/.*/], ["s", /"[^"\n]*"/], ["mi", /\b\d[\d']*/],
                   ["k", /\b(?:alignas|auto|const|return|static|struct|using|delete|new|char|double|int|long|void)\b/]];
    const all = new RegExp(kinds.map(([, one]) => `(${one.source})`).join("|"), "gm");
    const code = make("code");
    let at = 0;
    for (const found of text.matchAll(all)) {
      const span = make("span", found[0]);
      span.className = kinds[found.slice(1).findIndex((one) => one !== undefined)][0];
      code.append(text.slice(at, found.index), span);
      at = found.index + found[0].length;
    }
    code.append(text.slice(at));
    return code;
  }

  function showResult() {
    const found = tarnChooser.compose(data, choice);
    const parts = [make("h2", "Composition")];
    const conflict = found.rule && data.conflicts.find((one) => one.rule === found.rule);
    if (conflict) parts.push(warning(conflict));
    const copy = make("button", "copy");
    copy.type = "button";
    copy.className = "chooser-copy md-button";
    copy.addEventListener("click", () => navigator.clipboard.writeText(found.code).then(() => (copy.textContent = "copied")));
    const shown = make("div", "", make("pre", "", coloured(found.code)));
    shown.className = "highlight no-copy";  // the theme's button would go with the first answer
    parts.push(shown, copy);
    parts.push(make("h2", "What it costs"), costs(found));
    result.replaceChildren(...parts);
  }

  function showAll() {
    const product = data.products.find((one) => one.id === choice.product);
    questions.replaceChildren(group("product", "What should the pool look like to its users?", data.products),
                              ...tarnChooser.asked(data, product).map((one) => group(one.id, one.text, one.answers)));
    showResult();
  }
  showAll();
}

if (typeof document !== "undefined") {
  const root = document.getElementById("questions");
  if (root) tarnShowChooser(root, window.tarnChooserData);
}
