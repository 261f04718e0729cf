// PageServer: the live page over HTTP, on eight threads of its own, on loopback unless told otherwise. It is
// read-only; a change needs the token. Every request has a limit of bytes and of time, so that a slow or
// hostile client holds a thread for seconds only; no answer stays open. The sources are called from its
// threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "collectors/web/page_routes.hpp"
#include "topology/base/result.hpp"

namespace weft::web {

struct PageOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
};

class PageServer {
 public:
  /// It answers as soon as this returns. Errors: conflict (the port is taken), permission (a port below
  /// 1024), usage (a token beyond loopback: it would go over the wire in clear).
  static Result<std::unique_ptr<PageServer>> start(const PageOptions& options, PageSetup setup);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::uint16_t port() const;
  std::string url() const;

 private:
  struct Running;
  explicit PageServer(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

/// The token of a file that only its owner, this process's user or root, may read (os::read_private_file): 16
/// to 256 bytes, one line.
/// Errors: not_found, permission, invalid_input.
Result<std::string> read_token(const std::filesystem::path& file);

}  // namespace weft::web
