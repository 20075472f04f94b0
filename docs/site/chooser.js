// The chooser: from answers to a composition. compose() is all of it that thinks; the rest shows it. Data: chooser.json, and what
// chooser_data.py reads from the headers and docs/rules.md.
"use strict";

const tarnChooser = (() => {
  const answerOf = (question, choice) => question.answers.find((one) => one.id === choice[question.id]) || question.answers[0];
  const asked = (data, product) => data.questions.filter((question) => question.axis !== "size" || product.sized);

  // `first(policy, policy)` with one in each line, if there are several.
  function inLines(text, before) {
    const open = before.length + text.indexOf("{") ;
    return (policies) => text.replace("{}", policies.join(",\n" + " ".repeat(open)));
  }

  function typeOf(product, policies, before) {
    if (policies.length === 0 && product.empty) return product.empty;
    if (policies.length === 0) return product.type.replace(", {}", "").replace("{}", "");
    return inLines(product.type, before)(policies);
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
      main: [`block_pool blocks${values};`, "void* const block = blocks.allocate(100);", "blocks.deallocate(block, 100);"],
    }),
  };
  const lineBefore = {pool: "using order_pool = ", static_pool: "using order_pool = ", object_pool: "using order_pool = ",
                      class_new: "  ", containers: "using int_list = tarn::list<int, ", size_class_pool: "using block_pool = "};

  function code(product, policies, values, headers) {
    const named = values.length ? `{${values.join(", ")}}` : "";
    const parts = bodies[product.id](typeOf(product, policies, lineBefore[product.id]), named);
    const standard = values.some((one) => one.includes("std::pmr")) ? ["#include <memory_resource>"] : [];
    const bytes = values.some((one) => one.includes("bytes")) ? ["#include <cstddef>"] : [];
    const includes = [...bytes, ...standard].join("\n");
    const own = headers.map((one) => `#include "${one}"`).join("\n");
    const memory = bytes.length ? "alignas(64) static std::byte bytes[1 << 20];\n\n" : "";
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
