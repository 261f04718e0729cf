#include "collectors/bus/run_certificate.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

namespace weft::bus {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Text = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Serial = std::unique_ptr<BIGNUM, Freed<BN_free>>;

// RFC 5280, 4.1.2.5: the second says that there is no last day.
constexpr const char* kFirstDay = "19700101000000Z";
constexpr const char* kNoLastDay = "99991231235959Z";

tl::unexpected<Error> failed(const char* what) {
  std::array<char, 256> why{};
  ERR_error_string_n(ERR_get_error(), why.data(), why.size());
  return fail(ErrorKind::internal, "{} failed: {}", what, why.data());
}

/// 128 random bits: a certificate's serial number is its own (RFC 5280, 4.1.2.2).
bool number(X509* certificate) {
  const Serial serial(BN_new());
  return serial && BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool name(X509* certificate, const std::string& server) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(server.c_str());
  return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, subject) == 1;
}

bool extend(X509* certificate, int kind, const std::string& value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool fill(X509* certificate, EVP_PKEY* key, const std::string& server) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && number(certificate) &&
         name(certificate, server) &&
         ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), kFirstDay) == 1 &&
         ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), kNoLastDay) == 1 &&
         X509_set_pubkey(certificate, key) == 1 &&
         extend(certificate, NID_subject_alt_name, "DNS:" + server) &&
         extend(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, NID_ext_key_usage, "serverAuth") &&
         X509_sign(certificate, key, EVP_sha256()) != 0;
}

std::string text_in(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

Result<RunCertificate> make_run_certificate() { return make_certificate_of(kRunServerName); }

Result<RunCertificate> make_certificate_of(const std::string& server) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("EVP_EC_gen");
  const Certificate certificate(X509_new());
  if (!certificate || !fill(certificate.get(), key.get(), server)) return failed("making a certificate");
  const Text certificate_text(BIO_new(BIO_s_mem()));
  const Text key_text(BIO_new(BIO_s_secmem()));
  if (!certificate_text || !key_text || PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("writing a certificate");
  return RunCertificate{text_in(certificate_text.get()), text_in(key_text.get())};
}

}  // namespace weft::bus
