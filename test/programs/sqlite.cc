// Threads that each fill, index, query and empty a database of SQLite's in memory. Prints what the queries say.
//
//   sqlite [threads] [rows]
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errstr(code));
  std::exit(1);
}

class database {
 public:
  database() { check(sqlite3_open(":memory:", &handle_), "open"); }
  ~database() { check(sqlite3_close(handle_), "close"); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  void run(const std::string& text) { check(sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr), text.c_str()); }
  void insert(long number, const std::string& text) {
    sqlite3_stmt* s = nullptr;
    check(sqlite3_prepare_v2(handle_, "INSERT INTO t VALUES (?, ?, ?)", -1, &s, nullptr), "prepare");
    check(sqlite3_bind_int64(s, 1, number), "bind");
    check(sqlite3_bind_int64(s, 2, number * 7919 % 10007), "bind");
    check(sqlite3_bind_text(s, 3, text.c_str(), -1, SQLITE_TRANSIENT), "bind");
    check(sqlite3_step(s), "step");
    check(sqlite3_finalize(s), "finalize");
  }
  std::string ask(const std::string& text) {
    sqlite3_stmt* s = nullptr;
    std::string answer;
    check(sqlite3_prepare_v2(handle_, text.c_str(), -1, &s, nullptr), text.c_str());
    while (sqlite3_step(s) == SQLITE_ROW) answer += reinterpret_cast<const char*>(sqlite3_column_text(s, 0)) + std::string(" ");
    check(sqlite3_finalize(s), "finalize");
    return answer;
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::string work(long rows) {
  std::string said;
  for (int round = 0; round != 2; ++round) {
    database d;
    d.run("CREATE TABLE t (number INTEGER PRIMARY KEY, other INTEGER, text TEXT); BEGIN");
    for (long i = 0; i != rows; ++i) d.insert(i, std::string(static_cast<std::size_t>(i * 31 % 300), 'x') + std::to_string(i));
    d.run("COMMIT; CREATE INDEX by_other ON t (other)");
    for (long i = 0; i < rows; i += 10)
      d.ask("SELECT text FROM t WHERE other = " + std::to_string(i % 10007) + " ORDER BY text DESC LIMIT 3");
    said = d.ask("SELECT count(*) || ',' || sum(other) || ',' || sum(length(text)) FROM t");
    said += d.ask("SELECT group_concat(n) FROM (SELECT count(*) AS n FROM t GROUP BY length(text) % 7 ORDER BY 1)");
    d.run("DELETE FROM t WHERE number % 3 = 0; VACUUM");
    said += d.ask("SELECT count(*) FROM t");
  }
  return said;
}

}  // namespace

int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 4;
  const long rows = count > 2 ? std::atol(words[2]) : 20'000;
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // its lock would hide the allocator's
  std::vector<std::string> said(static_cast<std::size_t>(threads));
  std::vector<std::thread> all;
  for (std::string& one : said) all.emplace_back([&one, rows] { one = work(rows); });
  for (std::thread& t : all) t.join();
  for (const std::string& one : said) std::printf("%s\n", one.c_str());
}
