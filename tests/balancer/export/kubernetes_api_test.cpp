// The REST interface against servers that are down, slow, busy, hostile or cut short, and against bad files.
#include "balancer/export/kubernetes_api.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/fakes/fake_kubernetes.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::exports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const RestCall kNode{.path = "/api/v1/nodes/n1"};

class KubernetesCalls : public testing::Test {
 protected:
  KubernetesCalls() { server_.add_node("n1"); }

  KubernetesServer server(Nanoseconds limit = 2s) const {
    return {.url = server_.url(), .token = server_.token_file(), .ca = server_.ca_file(), .limit = limit};
  }
  static Result<std::string> call(const KubernetesServer& server, const RestCall& call = kNode) {
    const auto began = Clock::now();
    WEFT_TRY(const auto api, open_kubernetes_api(server));
    auto said = api->call(call);
    EXPECT_LT(Clock::now() - began, server.limit + 10s) << "a call has its limit";
    if (!said) {
      EXPECT_THAT(said.error().message, Not(HasSubstr(FakeKubernetes::kToken)));
    }
    return said;
  }
  static Error error_of(const KubernetesServer& server, const RestCall& asked = kNode) {
    const auto said = call(server, asked);
    return said ? Error{ErrorKind::internal, "it worked"} : said.error();
  }
  void answer_with(std::function<void(httplib::Response&)> how) {
    server_.meddle([how = std::move(how)](const auto&, auto& response) { return how(response), true; });
  }
  void refuse_with(int code, const char* reason = "") {
    answer_with([=](auto& response) { FakeKubernetes::refuse(response, code, reason); });
  }

  FakeKubernetes server_;
};

TEST_F(KubernetesCalls, GoOverOneConnectionWithTheToken) {
  std::set<int> ports;  // written by one call after the other
  server_.meddle([&](const auto& request, auto&) { return ports.insert(request.remote_port), false; });
  const auto api = open_kubernetes_api(server());
  ASSERT_TRUE(api);
  for (int i = 0; i < 3; ++i) {
    const auto said = (*api)->call(kNode);
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_THAT(*said, HasSubstr("\"name\":\"n1\""));
  }
  EXPECT_EQ(ports.size(), 1u);
}

TEST_F(KubernetesCalls, GoOnAfterTheServerClosedTheConnection) {
  const auto api = open_kubernetes_api(server());
  ASSERT_TRUE(api);
  answer_with([](auto& response) { response.set_header("Connection", "close"); });
  EXPECT_TRUE((*api)->call(kNode));
  server_.meddle({});
  EXPECT_TRUE((*api)->call(kNode));
}

TEST_F(KubernetesCalls, TellStatusesApart) {
  const auto kind = [&](int code, const char* reason = "") {
    refuse_with(code, reason);
    return error_of(server()).kind;
  };
  EXPECT_EQ(kind(401), ErrorKind::permission);
  EXPECT_EQ(kind(403), ErrorKind::permission);
  EXPECT_EQ(kind(409), ErrorKind::conflict);
  EXPECT_EQ(kind(404, "NotFound"), ErrorKind::not_found);
  EXPECT_EQ(kind(404), ErrorKind::invalid_input) << "of a proxy, it says nothing of the node";
  EXPECT_EQ(kind(422), ErrorKind::invalid_input);
  EXPECT_EQ(kind(302), ErrorKind::invalid_input);
  EXPECT_EQ(server_.calls().size(), 7u) << "none of these is tried again";
}

TEST_F(KubernetesCalls, FollowNoRedirect) {
  answer_with([&](auto& response) { response.set_redirect(server_.url() + "/api/v1/nodes/other"); });
  EXPECT_THAT(error_of(server()).message, HasSubstr("sends elsewhere, which is not followed"));
  EXPECT_EQ(server_.calls().size(), 1u);
}

TEST_F(KubernetesCalls, TryAgainWhatTheServerIsTooBusyFor) {
  for (const int code : {429, 500, 503}) {
    std::atomic<int> tries = 0;
    server_.meddle([&](const auto&, auto& response) {
      if (++tries > 2) return false;
      FakeKubernetes::refuse(response, code, "");
      if (code == 429) response.set_header("Retry-After", "0");
      return true;
    });
    const auto said = call(server());
    EXPECT_TRUE(said) << code;
    EXPECT_EQ(tries, 3) << code;
    server_.meddle({});
  }
}

TEST_F(KubernetesCalls, WaitAsLongAsTheServerSaysAndNotLongerThanTheirLimit) {
  std::atomic<bool> was_busy = false;
  server_.meddle([&](const auto&, auto& response) {
    if (was_busy.exchange(true)) return false;
    FakeKubernetes::refuse(response, 429, "TooManyRequests");
    response.set_header("Retry-After", "1");
    return true;
  });
  const auto began = Clock::now();
  EXPECT_TRUE(call(server()));
  EXPECT_GE(Clock::now() - began, 1s);
  answer_with([](auto& response) {
    FakeKubernetes::refuse(response, 429, "TooManyRequests", "busy");
    response.set_header("Retry-After", "99999999999999");
  });
  EXPECT_EQ(error_of(server(20s)).kind, ErrorKind::absent);
  answer_with([](auto& response) {
    FakeKubernetes::refuse(response, 429, "TooManyRequests", "busy");
    response.set_header("Retry-After", "60");
  });
  const auto again = Clock::now();
  const auto error = error_of(server());
  EXPECT_EQ(error.kind, ErrorKind::absent);
  EXPECT_THAT(error.message, AllOf(HasSubstr("busy"), HasSubstr("asked again in 60 s")));
  EXPECT_LT(Clock::now() - again, 10s) << "it is not worth waiting";
}

TEST_F(KubernetesCalls, EndWhereTheServerHangs) {
  answer_with([&](auto&) {
    for (int i = 0; i < 200 && !server_.is_ending; ++i) std::this_thread::sleep_for(10ms);
  });
  const auto error = error_of(server(300ms));
  EXPECT_EQ(error.kind, ErrorKind::timeout);
  EXPECT_THAT(error.message, HasSubstr("no whole answer within 0.3 s"));
  server_.is_ending = true;
}

std::atomic<int> pipe_signals = 0;
pthread_t asking_thread{};

TEST_F(KubernetesCalls, RaiseNoSignalWhereAConnectionHasEnded) {
  asking_thread = pthread_self();
  pipe_signals = 0;
  const auto before =
      signal(SIGPIPE, [](int) { pipe_signals += pthread_equal(pthread_self(), asking_thread); });
  answer_with([&](auto&) {
    for (int i = 0; i < 200 && !server_.is_ending; ++i) std::this_thread::sleep_for(10ms);
  });
  EXPECT_EQ(error_of(server(200ms)).kind, ErrorKind::timeout);
  server_.is_ending = true;
  signal(SIGPIPE, before);
  EXPECT_EQ(pipe_signals, 0);
}

TEST_F(KubernetesCalls, EndWhereAnAnswerComesByteByByte) {
  answer_with([&](auto& response) {
    response.set_content_provider(1000, "application/json", [&](size_t, size_t, httplib::DataSink& sink) {
      std::this_thread::sleep_for(20ms);
      return !server_.is_ending && sink.write(" ", 1);
    });
  });
  EXPECT_EQ(error_of(server(300ms)).kind, ErrorKind::timeout);
  server_.is_ending = true;
}

TEST_F(KubernetesCalls, EndWhereAnAnswerNeverEnds) {
  answer_with([&](auto& response) {
    response.set_chunked_content_provider("application/json", [&](size_t, httplib::DataSink& sink) {
      static const std::string many(1'000'000, ' ');
      return !server_.is_ending && sink.write(many.data(), many.size());
    });
  });
  const auto error = error_of(server());
  EXPECT_EQ(error.kind, ErrorKind::invalid_input);
  EXPECT_THAT(error.message, HasSubstr("more than 32 MB"));
  server_.is_ending = true;
}

TEST_F(KubernetesCalls, TakeNoHalfOfAnAnswer) {
  answer_with([](auto& response) {
    response.set_content_provider(1000, "application/json", [](size_t at, size_t, httplib::DataSink& sink) {
      return at == 0 && sink.write("{\"kind\":", 8);
    });
  });
  EXPECT_EQ(error_of(server(20s)).kind, ErrorKind::absent);
  answer_with([](auto& response) {
    response.set_chunked_content_provider("application/json", [](size_t at, httplib::DataSink& sink) {
      return at == 0 && sink.write("{\"kind\":", 8);
    });
  });
  EXPECT_EQ(error_of(server(20s)).kind, ErrorKind::absent);
}

TEST_F(KubernetesCalls, SayNothingOfWhatTheServerPutIntoItsWordsToHarm) {
  answer_with([](auto& response) {
    FakeKubernetes::refuse(
        response, 403, "Forbidden",
        std::string("you sent ") + FakeKubernetes::kToken + "\n\x1b[2J" + std::string(5000, 'x'));
  });
  const auto error = error_of(server());
  EXPECT_THAT(error.message, AllOf(HasSubstr("you sent ..."), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
  EXPECT_LT(error.message.size(), 500u);
}

TEST_F(KubernetesCalls, FailWhereNothingListens) {
  auto place = server(20s);
  server_.stop();
  const auto error = error_of(place);
  EXPECT_EQ(error.kind, ErrorKind::absent);
  EXPECT_THAT(error.message, HasSubstr("does not answer"));
}

TEST_F(KubernetesCalls, TrustNoOtherServer) {
  const FakeKubernetes other;
  auto place = server();
  place.ca = other.ca_file();
  const auto error = error_of(place);
  EXPECT_EQ(error.kind, ErrorKind::permission);
  EXPECT_THAT(error.message, HasSubstr("no token was sent"));
  place = server();
  place.url = fmt::format("https://127.0.0.1:{}", server_.port());
  EXPECT_EQ(error_of(place).kind, ErrorKind::permission) << "its certificate is for localhost";
  place.ca.clear();
  EXPECT_EQ(error_of(place).kind, ErrorKind::permission) << "the system does not know it";
  EXPECT_TRUE(server_.calls().empty());
}

/// Accepts connections and does `serve` to each.
class RawServer {
 public:
  explicit RawServer(std::function<void(int)> serve)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(socket_.get(), address, size), 0);
    EXPECT_EQ(listen(socket_.get(), 8), 0);
    EXPECT_EQ(getsockname(socket_.get(), address, &size), 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this, serve = std::move(serve)] {
      while (true) {
        const os::FileDescriptor line(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!line) return;
        serve(line.get());
      }
    });
  }
  ~RawServer() { shutdown(socket_.get(), SHUT_RDWR); }
  int port() const { return port_; }

 private:
  os::FileDescriptor socket_;
  int port_ = 0;
  std::jthread thread_;
};

TEST(KubernetesLimits, HoldForATlsHandshakeAndForTheHeadOfAnAnswer) {
  const RawServer silent([](int line) {
    char byte = 0;
    while (read(line, &byte, 1) > 0) {
    }
  });
  const auto asked = [](const std::string& url) {
    const auto began = Clock::now();
    const auto api = open_kubernetes_api({.url = url, .limit = 300ms}).value();
    const auto said = api->call(kNode);
    EXPECT_LT(Clock::now() - began, 10s) << url;
    return said ? ErrorKind::internal : said.error().kind;
  };
  EXPECT_EQ(asked(fmt::format("https://localhost:{}", silent.port())), ErrorKind::timeout);
  const RawServer dripping([](int line) {
    for (const char c : std::string("HTTP/1.1 200 OK\r\nX: ") + std::string(200, 'y')) {
      if (send(line, &c, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(20ms);
    }
  });
  EXPECT_EQ(asked(fmt::format("http://127.0.0.1:{}", dripping.port())), ErrorKind::timeout);
}

TEST(KubernetesFiles, SayWhatIsWrongWithATokenOrCertificates) {
  const auto kind = [](const std::string& token, std::filesystem::perms mode) {
    const ScratchFile file(token);
    std::filesystem::permissions(file.path(), mode);
    const auto api = open_kubernetes_api({.url = "https://localhost", .token = file.path()});
    if (!api && token.size() > 1) {
      EXPECT_THAT(api.error().message, Not(HasSubstr(token)));
    }
    return api ? ErrorKind::internal : api.error().kind;
  };
  const auto mine = std::filesystem::perms::owner_read;
  EXPECT_EQ(kind("abc.def\n", mine), ErrorKind::internal) << "it is one";
  EXPECT_EQ(kind("", mine), ErrorKind::invalid_input);
  EXPECT_EQ(kind("\n", mine), ErrorKind::invalid_input);
  EXPECT_EQ(kind("abc\r\nX-Other: 1", mine), ErrorKind::invalid_input);
  EXPECT_EQ(kind(std::string(70'000, 'a'), mine), ErrorKind::invalid_input);
  EXPECT_EQ(kind("abc", mine | std::filesystem::perms::others_read), ErrorKind::permission);
  const auto absent = open_kubernetes_api({.url = "https://localhost", .token = "/no/such/token"});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::not_found);
  const ScratchFile no_certificates("hello");
  EXPECT_FALSE(open_kubernetes_api({.url = "https://localhost", .ca = no_certificates.path()}));
  EXPECT_FALSE(open_kubernetes_api({.url = "https://localhost", .ca = "/no/such/ca"}));
  const ScratchFile damaged("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const auto api = open_kubernetes_api({.url = "https://localhost:1", .ca = damaged.path(), .limit = 300ms});
  ASSERT_TRUE(api);
  EXPECT_FALSE((*api)->call(kNode));
}

TEST(KubernetesUrls, AreHttpsOrOfThisHost) {
  const auto opens = [](const char* url) { return open_kubernetes_api({.url = url}).has_value(); };
  for (const char* url :
       {"https://h", "https://h:6443", "https://10.0.0.1:6443/", "https://[fd00::a]:443", "https://[::1]",
        "https://h/k8s/clusters/c-1", "http://localhost:8001", "http://127.0.0.1:8001", "http://[::1]:8001"})
    EXPECT_TRUE(opens(url)) << url;
  for (const char* url : {"", "h", "http://h", "http://127.0.0.1.example.com", "ftp://h", "https://",
                          "https://:443", "https://h:0", "https://h:65536", "https://h:x", "https://h:443x",
                          "https://u:p@h", "https://[::1", "https://[::1]443", "https://h/a?b",
                          "https://h/%2e", "https://h i", "https://h\r\nX: y", "https://h#x"})
    EXPECT_FALSE(opens(url)) << url;
}

TEST(KubernetesUrls, TellNoPasswordThatStandsInThem) {
  for (const char* url : {"https://weft:s3cret@h", "weft:s3cret@h", "https://weft:s3cret/a@h",
                          "https://weft:a@s3cret:@h", "http://s3cret@h"}) {
    const auto api = RestApi::open({.url = url});
    ASSERT_FALSE(api);
    EXPECT_THAT(api.error().message, AllOf(Not(HasSubstr("s3cret")), HasSubstr("@h"))) << url;
  }
}

TEST(KubernetesUrls, EscapeWordsOfAQuery) {
  EXPECT_EQ(query_word("aZ9-._~+&= \xff"), "aZ9-._~%2B%26%3D%20%FF");
}

}  // namespace
}  // namespace weft::exports
