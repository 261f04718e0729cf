// Database: one connection to a SQLite file in WAL mode, with its statements. One thread. Errors say what the
// file has and what to do: absent (the disk is full), invalid_input (damaged, or no database), conflict (in
// use), permission, not_found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/base/result.hpp"

struct sqlite3_stmt;

namespace weft::store {

/// Null, a number, a text or bytes.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, ByteSpan>;
using SqlValues = std::vector<SqlValue>;

/// The columns of one row, from 0; views last until the next row.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  ByteSpan bytes(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Access { read, write };
  /// For writing it is made where there is none, readable for its owner and group. `if_damaged`: what to do
  /// then, for people; it outlives the object.
  static Result<Database> open(const std::filesystem::path& path, Access access,
                               std::string_view if_damaged = "Move it away, or put a backup in its place");
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  const std::filesystem::path& path() const { return path_; }

  /// Statements without values or answer.
  Result<void> run(std::string_view statements);
  /// The same, tried for 5 s while others are writing.
  Result<void> run_in_turn(std::string_view statements);
  Result<void> execute(std::string_view statement, const SqlValues& values = {});
  /// Calls `each` for each row; its error ends the query and is passed on.
  Result<void> query(std::string_view statement, const SqlValues& values,
                     const std::function<Result<void>(const Row&)>& each);
  /// The number in the first row; `otherwise` where there is no row, or null.
  Result<std::int64_t> number(std::string_view statement, const SqlValues& values = {},
                              std::int64_t otherwise = 0);

  /// All that `work` writes, or nothing of it.
  Result<void> in_transaction(const std::function<Result<void>()>& work);

  /// Reads all of it; Error invalid_input: what is damaged.
  Result<void> check();
  /// A copy of what stands in it now, while others go on writing; `to` must not be there yet.
  Result<void> back_up(const std::filesystem::path& to);

 private:
  struct Connection;
  Database(std::filesystem::path path, std::string_view if_damaged);
  [[nodiscard]] tl::unexpected<Error> error(std::string_view doing) const;
  Result<sqlite3_stmt*> statement(std::string_view text, const SqlValues& values);

  std::filesystem::path path_;
  std::string_view if_damaged_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace weft::store
