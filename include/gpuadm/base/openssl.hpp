#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

/// Objects of OpenSSL that are freed at the end of their scope. Only the layers that tests/layers.sh lists
/// for openssl include this.
namespace base::openssl {

template <auto Free>
struct Release {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Release<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using Request = std::unique_ptr<X509_REQ, Release<X509_REQ_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;

/// The first certificate of a PEM text; null if there is none.
[[nodiscard]] Certificate certificate_in(std::string_view pem);
/// What was written to a memory BIO.
[[nodiscard]] std::string text_in(BIO* memory);
/// The oldest error of this thread as text. The errors are cleared.
[[nodiscard]] std::string take_error();

}  // namespace base::openssl
