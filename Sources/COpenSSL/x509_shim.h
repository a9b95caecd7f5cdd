#pragma once

// What the certificate authority needs of libcrypto and Swift cannot import: macros, variadics and typed stacks.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline EVP_PKEY *segue_x509_generate_p256(void) { return EVP_EC_gen("P-256"); }

static inline EVP_PKEY *segue_x509_generate_rsa(size_t bits) { return EVP_RSA_gen(bits); }

static inline void segue_x509_free(void *memory) { OPENSSL_free(memory); }

/// The bytes that a memory BIO holds; they stay the BIO's.
static inline long segue_x509_bio_bytes(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

static inline int segue_x509_refuse_password(char *buffer, int size, int writing, void *context) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

/// Reads a private key without ever asking a terminal for a password.
static inline EVP_PKEY *segue_x509_read_private_key(BIO *bio) {
    return PEM_read_bio_PrivateKey(bio, NULL, segue_x509_refuse_password, NULL);
}

/// Adds an extension given in the configuration syntax. `value` must be a constant of ours: that syntax has commas and sections.
static inline int segue_x509_add_extension(X509 *subject, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, subject, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) return 0;
    int added = X509_add_ext(subject, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static inline int segue_x509_crl_add_authority_key_identifier(X509_CRL *crl, X509 *issuer) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, NULL, NULL, crl, 0);
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, NID_authority_key_identifier, "keyid:always");
    if (extension == NULL) return 0;
    int added = X509_CRL_add_ext(crl, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

/// Appends a name made of `length` bytes, which are copied. `type` is GEN_DNS, GEN_EMAIL, GEN_URI (IA5) or GEN_IPADD (4 or 16 octets).
static inline int segue_x509_names_push(GENERAL_NAMES *names, int type, const void *bytes, int length) {
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value = ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    if (name == NULL || value == NULL || !ASN1_STRING_set(value, bytes, length)) {
        ASN1_STRING_free(value);
        GENERAL_NAME_free(name);
        return 0;
    }
    GENERAL_NAME_set0_value(name, type, value);
    if (sk_GENERAL_NAME_push(names, name) <= 0) {
        GENERAL_NAME_free(name);
        return 0;
    }
    return 1;
}

static inline int segue_x509_names_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }

/// The type of the name at `index` and, for the four types that ``segue_x509_names_push`` knows, its bytes; else NULL and -1.
static inline const unsigned char *segue_x509_names_get(const GENERAL_NAMES *names, int index, int *type, int *length) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    *type = name->type;
    *length = -1;
    if (name->type != GEN_DNS && name->type != GEN_EMAIL && name->type != GEN_URI && name->type != GEN_IPADD) return NULL;
    const ASN1_STRING *value = (const ASN1_STRING *)name->d.ptr;
    *length = ASN1_STRING_length(value);
    return ASN1_STRING_get0_data(value);
}

/// The subjectAltName that a request asks for. `present` tells apart "asks for none" (0), "asks" (1) and "cannot be read" (-1).
static inline GENERAL_NAMES *segue_x509_request_names(X509_REQ *request, int *present) {
    STACK_OF(X509_EXTENSION) *extensions = X509_REQ_get_extensions(request);
    int critical = -1;
    GENERAL_NAMES *names = NULL;
    if (extensions != NULL) {
        names = (GENERAL_NAMES *)X509V3_get_d2i(extensions, NID_subject_alt_name, &critical, NULL);
        sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    }
    // -1 means that there is none (RFC 5280 §4.2.1.6); any other value without names means a malformed or repeated one.
    *present = names != NULL ? 1 : (critical == -1 ? 0 : -1);
    return names;
}

/// Whether the request's signature is made with SHA-256, SHA-384, SHA-512, or Ed25519, which has its own.
static inline int segue_x509_request_digest_is_good(const X509_REQ *request) {
    const X509_ALGOR *algorithm = NULL;
    int digest = NID_undef, key = NID_undef;
    X509_REQ_get0_signature(request, NULL, &algorithm);
    const int signature = X509_REQ_get_signature_nid(request);
    if (signature == NID_ED25519) return 1;
    if (signature == NID_rsassaPss) {
        // RFC 8017 §A.2.3: the digest is one of the parameters, and SHA-1 where none is named.
        const ASN1_OBJECT *name = NULL;
        const void *parameters = NULL;
        int type = V_ASN1_UNDEF;
        X509_ALGOR_get0(NULL, &type, &parameters, algorithm);
        RSA_PSS_PARAMS *pss = type == V_ASN1_SEQUENCE ? (RSA_PSS_PARAMS *)ASN1_item_unpack((const ASN1_STRING *)parameters, ASN1_ITEM_rptr(RSA_PSS_PARAMS)) : NULL;
        if (pss != NULL && pss->hashAlgorithm != NULL) {
            X509_ALGOR_get0(&name, NULL, NULL, pss->hashAlgorithm);
            digest = OBJ_obj2nid(name);
        }
        RSA_PSS_PARAMS_free(pss);
    } else if (!OBJ_find_sigid_algs(signature, &digest, &key)) {
        return 0;
    }
    return digest == NID_sha256 || digest == NID_sha384 || digest == NID_sha512;
}

/// One distribution point, whose full name is the one URI (RFC 5280 §4.2.1.13).
static inline int segue_x509_add_crl_distribution_point(X509 *subject, const void *uri, int length) {
    int added = 0;
    CRL_DIST_POINTS *points = CRL_DIST_POINTS_new();
    DIST_POINT *point = DIST_POINT_new();
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    if (points == NULL || point == NULL || names == NULL) goto done;
    if (!segue_x509_names_push(names, GEN_URI, uri, length)) goto done;
    point->distpoint = DIST_POINT_NAME_new();
    if (point->distpoint == NULL) goto done;
    point->distpoint->type = 0;
    point->distpoint->name.fullname = names;
    names = NULL;
    if (sk_DIST_POINT_push(points, point) <= 0) goto done;
    point = NULL;
    added = X509_add1_ext_i2d(subject, NID_crl_distribution_points, points, 0, 0) == 1;
done:
    GENERAL_NAMES_free(names);
    DIST_POINT_free(point);
    CRL_DIST_POINTS_free(points);
    return added;
}

/// A stack that holds `certificate` without owning it.
static inline STACK_OF(X509) *segue_x509_stack_of(X509 *certificate) {
    STACK_OF(X509) *stack = sk_X509_new_null();
    if (stack != NULL && sk_X509_push(stack, certificate) <= 0) {
        sk_X509_free(stack);
        return NULL;
    }
    return stack;
}

static inline void segue_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
