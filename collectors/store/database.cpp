#include "collectors/store/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "topology/base/check.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::store {
namespace {

constexpr int kWaitForOthersMs = 5'000;
constexpr int kBetweenTriesMs = 10;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

struct Close {
  void operator()(sqlite3* connection) const { sqlite3_close(connection); }
};

/// A statement goes back to its start, and lets go of its locks, however its use ends.
struct Reset {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};
using InUse = std::unique_ptr<sqlite3_stmt, Reset>;

int bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
  struct Binder {
    sqlite3_stmt* to;
    int at;
    int operator()(std::monostate) const { return sqlite3_bind_null(to, at); }
    int operator()(std::int64_t number) const { return sqlite3_bind_int64(to, at, number); }
    int operator()(double number) const { return sqlite3_bind_double(to, at, number); }
    int operator()(const std::string& text) const {
      return sqlite3_bind_text64(to, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    int operator()(ByteSpan bytes) const {
      return sqlite3_bind_blob64(to, at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    }
  };
  return std::visit(Binder{statement, at}, value);
}

/// The log and its index tell of a full disk as of any other fault of it.
bool is_full(const std::filesystem::path& path) {
  constexpr std::uintmax_t kTwoPages = 32'768;
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  return !error && space.available < kTwoPages;
}

tl::unexpected<Error> error_of(const std::filesystem::path& path, int code, std::string_view doing,
                               std::string_view says, std::string_view if_damaged) {
  const auto name = path.string();
  const int kind = (code & 0xff) == SQLITE_IOERR && is_full(path) ? SQLITE_FULL : code & 0xff;
  switch (kind) {
    case SQLITE_FULL:
      return fail(ErrorKind::absent,
                  "{}: {}: the disk is full; what was written before is safe: free space and try again", name,
                  doing);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail(ErrorKind::invalid_input, "{}: {}: {}: the file is damaged or no database of weft. {}",
                  name, doing, says, if_damaged);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(ErrorKind::conflict, "{}: {}: another program is writing to it; try again", name, doing);
    case SQLITE_CANTOPEN:
      if (access(path.c_str(), F_OK) != 0) return fail(ErrorKind::not_found, "{}: {}: {}", name, doing, says);
      return fail(ErrorKind::permission,
                  "{}: {}: {}: who only reads it writes too: {}-wal and -shm, in its folder", name, doing,
                  says, path.filename().string());
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return fail(ErrorKind::permission, "{}: {}: {}: it and its folder must be writable for this user", name,
                  doing, says);
    case SQLITE_IOERR:
      return fail(ErrorKind::absent, "{}: {}: {}: see the kernel's log for the disk", name, doing, says);
    default:
      return fail(ErrorKind::internal, "{}: {}: {} (SQLite {})", name, doing, says, code);
  }
}

}  // namespace

bool Row::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string Row::text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
ByteSpan Row::bytes(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

struct Database::Connection {
  std::unique_ptr<sqlite3, Close> handle;
  std::map<std::string, Statement, std::less<>> statements;  // prepared once; gone before the handle
};

Database::Database(std::filesystem::path path, std::string_view if_damaged)
    : path_(std::move(path)), if_damaged_(if_damaged), connection_(std::make_unique<Connection>()) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

tl::unexpected<Error> Database::error(std::string_view doing) const {
  sqlite3* handle = connection_->handle.get();
  return error_of(path_, sqlite3_extended_errcode(handle), doing, sqlite3_errmsg(handle), if_damaged_);
}

Result<Database> Database::open(const std::filesystem::path& path, Access access,
                                std::string_view if_damaged) {
  if (access == Access::write) {
    // SQLite would make it readable for all: it tells the names of the fabric and what is wrong with it.
    const os::FileDescriptor made(::open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDWR, 0640));
    if (!made) {
      const auto kind = errno == EACCES || errno == EROFS ? ErrorKind::permission : ErrorKind::not_found;
      return fail(kind, "{}: open for writing failed: {}", path.string(),
                  std::generic_category().message(errno));
    }
  } else if (std::error_code failed; !std::filesystem::is_regular_file(path, failed)) {
    if (failed == std::errc::permission_denied)
      return fail(ErrorKind::permission, "{}: this user may not read it: {}", path.string(),
                  failed.message());
    return fail(ErrorKind::not_found, "{}: there is no such database", path.string());
  }
  Database database(path, if_damaged);
  sqlite3* handle = nullptr;
  const int flags = access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database.connection_->handle.reset(handle);
  if (handle == nullptr) return fail(ErrorKind::internal, "{}: sqlite3_open_v2 has no memory", path.string());
  if (opened != SQLITE_OK) return database.error("open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kWaitForOthersMs);
  // Rows of history have 1 to 3 kB: on pages of 4 kB a quarter of the file would be empty.
  // WAL: readers and one writer do not wait for each other. Of a power cut the last transactions may go, and
  // come again from the event stream.
  if (access == Access::write)
    WEFT_TRY_VOID(
        database.run_in_turn("PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"));
  return database;
}

Result<void> Database::run(std::string_view statements) {
  const std::string text(statements);
  const int done = sqlite3_exec(connection_->handle.get(), text.c_str(), nullptr, nullptr, nullptr);
  if (done != SQLITE_OK) return error("write");
  return {};
}

/// SQLite waits for others by itself but for some moments of theirs: where a log is turned on, made anew or
/// ended.
Result<void> Database::run_in_turn(std::string_view statements) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kWaitForOthersMs);
  auto done = run(statements);
  while (!done && done.error().kind == ErrorKind::conflict && std::chrono::steady_clock::now() < end) {
    sqlite3_sleep(kBetweenTriesMs);
    done = run(statements);
  }
  return done;
}

Result<sqlite3_stmt*> Database::statement(std::string_view text, const SqlValues& values) {
  auto found = connection_->statements.find(text);
  if (found == connection_->statements.end()) {
    sqlite3_stmt* made = nullptr;
    const int done = sqlite3_prepare_v3(connection_->handle.get(), text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (done != SQLITE_OK) return error("read");
    found = connection_->statements.emplace(std::string(text), Statement(made)).first;
  }
  sqlite3_stmt* ready = found->second.get();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (bind(ready, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) return error("bind");
  return ready;
}

Result<void> Database::execute(std::string_view text, const SqlValues& values) {
  return query(text, values, [](const Row&) -> Result<void> { return {}; });
}

Result<void> Database::query(std::string_view text, const SqlValues& values,
                             const std::function<Result<void>(const Row&)>& each) {
  WEFT_TRY(sqlite3_stmt * ready, statement(text, values));
  const InUse in_use(ready);
  for (;;) {
    const int step = sqlite3_step(ready);
    if (step == SQLITE_DONE) return {};
    if (step != SQLITE_ROW) return error(sqlite3_stmt_readonly(ready) != 0 ? "read" : "write");
    WEFT_TRY_VOID(each(Row(ready)));
  }
}

Result<std::int64_t> Database::number(std::string_view text, const SqlValues& values,
                                      std::int64_t otherwise) {
  std::int64_t found = otherwise;
  WEFT_TRY_VOID(query(text, values, [&](const Row& row) -> Result<void> {
    if (!row.is_null(0)) found = row.integer(0);
    return {};
  }));
  return found;
}

Result<void> Database::in_transaction(const std::function<Result<void>()>& work) {
  WEFT_TRY_VOID(run_in_turn("BEGIN IMMEDIATE"));
  auto done = work();
  if (done) done = run("COMMIT");
  // SQLite itself has rolled back after some errors (a full disk): then there is nothing to roll back.
  if (!done && sqlite3_get_autocommit(connection_->handle.get()) == 0)
    sqlite3_exec(connection_->handle.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

Result<void> Database::check() {
  std::string first;
  WEFT_TRY_VOID(query("PRAGMA quick_check(1)", {}, [&](const Row& row) -> Result<void> {
    first = row.text(0);
    return {};
  }));
  if (first != "ok") return error_of(path_, SQLITE_CORRUPT, "check", first, if_damaged_);
  return {};
}

Result<void> Database::back_up(const std::filesystem::path& to) {
  std::error_code failed;
  if (std::filesystem::exists(to, failed))
    return fail(ErrorKind::conflict, "{}: it is there already: choose another name for the backup",
                to.string());
  auto part = to;
  part += ".part";
  std::filesystem::remove(part, failed);
  {
    WEFT_TRY(auto copy, open(part, Access::write));
    // Within one read transaction: what others write meanwhile does not make it begin again.
    WEFT_TRY_VOID(run("BEGIN"));
    WEFT_TRY_VOID(number("SELECT count(*) FROM sqlite_master"));
    sqlite3_backup* backup =
        sqlite3_backup_init(copy.connection_->handle.get(), "main", connection_->handle.get(), "main");
    int step = backup == nullptr ? SQLITE_ERROR : sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    sqlite3_exec(connection_->handle.get(), "COMMIT", nullptr, nullptr, nullptr);
    if (step != SQLITE_DONE) {
      const auto what = copy.error("back up");
      std::filesystem::remove(part, failed);
      return what;
    }
    WEFT_TRY_VOID(copy.check());
  }
  std::filesystem::rename(part, to, failed);
  if (failed) return fail(ErrorKind::permission, "{}: rename failed: {}", to.string(), failed.message());
  return {};
}

}  // namespace weft::store
