#include "collectors/bus/site_certificate.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "topology/base/outside_text.hpp"

namespace weft::bus {
namespace {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
void free_all(STACK_OF(X509) * all) { sk_X509_free(all); }  // not what is in it
using Reader = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using OneCertificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Store = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;
using Chain = std::unique_ptr<STACK_OF(X509), FreedBy<free_all>>;
using Names = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;

Reader reader_of(const std::string& pem) {
  return Reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<std::vector<OneCertificate>> certificates_in(const std::string& pem, const char* what) {
  std::vector<OneCertificate> all;
  const auto reader = reader_of(pem);
  while (X509* next = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) all.emplace_back(next);
  ERR_clear_error();  // of the end
  if (all.empty()) return fail(ErrorKind::invalid_input, "the {} holds no certificate in PEM", what);
  return all;
}

/// One with a passphrase would be asked for on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

Result<void> check_key(const std::string& pem, X509* certificate) {
  const PrivateKey key(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (!key)
    return fail(ErrorKind::invalid_input, "the key is no private key in PEM, or it needs a passphrase");
  const bool fits = X509_check_private_key(certificate, key.get()) == 1;
  ERR_clear_error();
  if (!fits) return fail(ErrorKind::invalid_input, "the key is of another certificate");
  return {};
}

Result<void> check_signature(const std::vector<OneCertificate>& authority,
                             const std::vector<OneCertificate>& own) {
  const Store store(X509_STORE_new());
  for (const auto& each : authority) X509_STORE_add_cert(store.get(), each.get());
  const Chain between(sk_X509_new_null());
  for (std::size_t i = 1; i < own.size(); ++i) sk_X509_push(between.get(), own[i].get());
  const Verification asked(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(asked.get(), store.get(), own.front().get(), between.get()) != 1)
    return fail(ErrorKind::internal, "X509_STORE_CTX_init failed");
  X509_VERIFY_PARAM_set_purpose(X509_STORE_CTX_get0_param(asked.get()), X509_PURPOSE_SSL_SERVER);
  const bool good = X509_verify_cert(asked.get()) == 1;
  ERR_clear_error();
  if (!good)
    return fail(ErrorKind::invalid_input, "agents would not believe this certificate: {}",
                X509_verify_cert_error_string(X509_STORE_CTX_get_error(asked.get())));
  return {};
}

std::optional<std::string> dns_name_of(X509* certificate) {
  const Names names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    const std::string dns(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    if (!dns.empty() && dns.find_first_of(std::string_view("*\0", 2)) == std::string::npos &&
        is_harmless(dns))
      return dns;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> server_name_of(const SiteCertificate& given) {
  WEFT_TRY(const auto authority, certificates_in(given.authority, "authority's file"));
  WEFT_TRY(const auto own, certificates_in(given.certificate, "certificate's file"));
  WEFT_TRY_VOID(check_key(given.key, own.front().get()));
  WEFT_TRY_VOID(check_signature(authority, own));
  const auto name = dns_name_of(own.front().get());
  if (!name)
    return fail(ErrorKind::invalid_input,
                "the certificate has no DNS name (subjectAltName), by which agents would know the server");
  return *name;
}

}  // namespace weft::bus
