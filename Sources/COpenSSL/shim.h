#pragma once

#include <malloc.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// OpenSSL's function-like macros, which Swift does not import, as functions. No policy lives here: that is TLSTransport's.

// Options: SSL_OP_BIT(n) is a function-like macro.
static inline uint64_t segue_ssl_op_no_renegotiation(void) { return SSL_OP_NO_RENEGOTIATION; }
static inline uint64_t segue_ssl_op_no_compression(void) { return SSL_OP_NO_COMPRESSION; }
static inline uint64_t segue_ssl_op_cipher_server_preference(void) { return SSL_OP_CIPHER_SERVER_PREFERENCE; }
static inline uint64_t segue_ssl_op_prioritize_chacha(void) { return SSL_OP_PRIORITIZE_CHACHA; }
static inline uint64_t segue_ssl_op_no_ticket(void) { return SSL_OP_NO_TICKET; }

// Context settings that are spelt as macros over SSL_CTX_ctrl.
static inline long segue_ssl_ctx_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }
static inline int segue_ssl_ctx_set_min_version(SSL_CTX *context, int version) { return (int)SSL_CTX_set_min_proto_version(context, version); }
static inline int segue_ssl_ctx_set_max_version(SSL_CTX *context, int version) { return (int)SSL_CTX_set_max_proto_version(context, version); }
static inline int segue_ssl_ctx_set_groups(SSL_CTX *context, const char *list) { return (int)SSL_CTX_set1_groups_list(context, list); }
static inline int segue_ssl_ctx_set_signature_algorithms(SSL_CTX *context, const char *list) { return (int)SSL_CTX_set1_sigalgs_list(context, list); }
static inline void segue_ssl_ctx_set_session_cache_mode(SSL_CTX *context, long mode) { (void)SSL_CTX_set_session_cache_mode(context, mode); }
static inline void segue_ssl_ctx_set_max_cert_list(SSL_CTX *context, long bytes) { (void)SSL_CTX_set_max_cert_list(context, bytes); }
static inline int segue_ssl_ctx_add1_chain_cert(SSL_CTX *context, X509 *certificate) { return (int)SSL_CTX_add1_chain_cert(context, certificate); }
static inline void segue_ssl_ctx_set_servername_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
    (void)SSL_CTX_set_tlsext_servername_callback(context, callback);
}

static inline void segue_ssl_ctx_set_status_callback(SSL_CTX *context, int (*callback)(SSL *, void *), void *argument) {
    (void)SSL_CTX_set_tlsext_status_cb(context, callback);
    (void)SSL_CTX_set_tlsext_status_arg(context, argument);
}

/// Staples a copy of an OCSP response; the library frees it.
static inline int segue_ssl_staple(SSL *ssl, const unsigned char *response, size_t count) {
    unsigned char *copy = OPENSSL_memdup(response, count);
    if (copy == NULL) return 0;
    if (SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)count) == 1) return 1;
    OPENSSL_free(copy);
    return 0;
}

// Connection settings.
static inline int segue_ssl_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline void segue_ssl_set_msg_callback_arg(SSL *ssl, void *argument) { (void)SSL_set_msg_callback_arg(ssl, argument); }
static inline X509 *segue_ssl_peer_certificate(const SSL *ssl) { return SSL_get0_peer_certificate(ssl); }

/// Empties the keys of a finished key exchange; their objects stay with the connection. The library keeps them, the own secret included, as long as it lives.
static inline void segue_ssl_empty_key_exchange(SSL *ssl) {
    EVP_PKEY *key = NULL;
    if (SSL_get_tmp_key(ssl, &key) && key != NULL) {
        (void)EVP_PKEY_set_type(key, EVP_PKEY_get_id(key));
        EVP_PKEY_free(key);
    }
    key = NULL;
    if (SSL_get_peer_tmp_key(ssl, &key) && key != NULL) {
        (void)EVP_PKEY_set_type(key, EVP_PKEY_get_id(key));
        EVP_PKEY_free(key);
    }
}

// Stacks: type-safe macros over one untyped implementation.
static inline int segue_ssl_x509_count(const STACK_OF(X509) *stack) { return stack == NULL ? 0 : sk_X509_num(stack); }
static inline X509 *segue_ssl_x509_at(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
static inline STACK_OF(X509) *segue_ssl_x509_stack_new(void) { return sk_X509_new_null(); }
/// Takes its own reference to the certificate.
static inline int segue_ssl_x509_push(STACK_OF(X509) *stack, X509 *certificate) {
    if (!X509_up_ref(certificate)) return 0;
    if (sk_X509_push(stack, certificate) > 0) return 1;
    X509_free(certificate);
    return 0;
}
static inline void segue_ssl_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }

// Subject alternative names (RFC 5280 §4.2.1.6).
static inline int segue_ssl_names_count(const GENERAL_NAMES *names) { return names == NULL ? 0 : sk_GENERAL_NAME_num(names); }
/// The kind (GEN_…) of a name; its bytes when it is one of the textual kinds (URI, DNS, email), else a null pointer.
static inline int segue_ssl_name_at(const GENERAL_NAMES *names, int index, const unsigned char **bytes, int *count) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    *bytes = NULL;
    *count = 0;
    if (name->type == GEN_URI || name->type == GEN_DNS || name->type == GEN_EMAIL) {
        *bytes = ASN1_STRING_get0_data(name->d.ia5);
        *count = ASN1_STRING_length(name->d.ia5);
    }
    return name->type;
}

static inline unsigned long segue_ssl_name_format_rfc2253(void) { return XN_FLAG_RFC2253; }

/// Keys the cipher and the MAC of a session ticket (RFC 5077 §4: AES-CBC, then HMAC-SHA-256). `seals` is 1 to make a ticket, 0 to open one.
static inline int segue_ssl_ticket_init(
    EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, const unsigned char cipher_key[32], const unsigned char mac_key[32], const unsigned char *iv, int seals) {
    OSSL_PARAM parameters[3];
    parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)mac_key, 32);
    parameters[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
    parameters[2] = OSSL_PARAM_construct_end();
    return EVP_MAC_CTX_set_params(mac, parameters) && EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipher_key, iv, seals);
}

/// The size of a block from malloc (absent from Swift's Glibc module).
static inline size_t segue_ssl_block_size(void *block) { return malloc_usable_size(block); }
