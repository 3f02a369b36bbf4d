#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/time.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace base {

/// A new private key, and a request for a certificate of it.
struct CertificateRequest {
  Secret key;           ///< PEM, PKCS #8: ECDSA on P-256
  std::string request;  ///< PEM, PKCS #10, signed with the key
};
/// `common_name`, `organization`: of the subject, at most 64 bytes each (RFC 5280, appendix A.1). Fault::bug
/// with OpenSSL's message.
[[nodiscard]] Result<CertificateRequest> new_certificate_request(const std::string& common_name,
                                                                 const std::string& organization);

/// What a certificate says of itself. Its signature is not verified.
struct CertificateSubject {
  std::string common_name;
  Time ends;  ///< it is valid until then
};
/// The first certificate of a PEM text. Fault::parse if there is none.
[[nodiscard]] Result<CertificateSubject> read_certificate(std::string_view pem);
/// Whether the first certificate of a PEM text is of this private key.
[[nodiscard]] bool is_certificate_of(std::string_view pem, const Secret& key);

/// A self-signed certificate of a server.
struct ServerCertificate {
  Secret key;               ///< PEM, PKCS #8: ECDSA on P-256
  std::string certificate;  ///< PEM
};
/// For an IP address and a DNS name; valid from yesterday on, because clocks of clients differ, for ten
/// years. Fault::bug with OpenSSL's message.
[[nodiscard]] Result<ServerCertificate> new_server_certificate(const std::string& common_name,
                                                               const std::string& address,
                                                               const std::string& name);
/// Whether the first certificate of a PEM text is of this IP address and this DNS name, and valid now and for
/// at least so long.
[[nodiscard]] bool is_server_certificate(std::string_view pem, const std::string& address,
                                         const std::string& name, std::chrono::seconds least_left);

}  // namespace base
