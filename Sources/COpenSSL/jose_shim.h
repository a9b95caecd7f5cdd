#pragma once

// What JOSE needs of libcrypto and Swift cannot import (macros, variadics), or that is one step in C and many in Swift.

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>

/// A public key on P-256 from its affine coordinates, big-endian; NULL when the point is not on the curve.
static inline EVP_PKEY *segue_jose_p256_public(const unsigned char x[32], const unsigned char y[32]) {
    unsigned char point[65];
    point[0] = 4; // uncompressed (SEC 1 §2.3.3)
    memcpy(point + 1, x, 32);
    memcpy(point + 33, y, 32);
    OSSL_PARAM parameters[3];
    parameters[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"P-256", 0);
    parameters[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point);
    parameters[2] = OSSL_PARAM_construct_end();
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (context != NULL && EVP_PKEY_fromdata_init(context) == 1) (void)EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    if (key == NULL) return NULL;
    EVP_PKEY_CTX *checking = EVP_PKEY_CTX_new(key, NULL);
    int isValid = checking != NULL && EVP_PKEY_public_check(checking) == 1;
    EVP_PKEY_CTX_free(checking);
    if (isValid) return key;
    EVP_PKEY_free(key);
    return NULL;
}

static inline EVP_PKEY *segue_jose_ed25519_public(const unsigned char x[32]) {
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, 32);
}

/// 1 when `signature` (r ‖ s, RFC 7518 §3.4) is one of `key` over the SHA-256 of `message`. Numbers out of range fail in the verification.
static inline int segue_jose_es256_verify(EVP_PKEY *key, const unsigned char signature[64], const unsigned char *message, size_t count) {
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, 32, NULL);
    BIGNUM *s = BN_bin2bn(signature + 32, 32, NULL);
    if (numbers == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(numbers, r, s) != 1) {
        ECDSA_SIG_free(numbers);
        BN_free(r);
        BN_free(s);
        return 0;
    }
    unsigned char *der = NULL;
    int derCount = i2d_ECDSA_SIG(numbers, &der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int isGood = derCount > 0 && context != NULL && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, der, (size_t)derCount, message, count) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    ECDSA_SIG_free(numbers);
    return isGood;
}

static inline int segue_jose_ed25519_verify(EVP_PKEY *key, const unsigned char signature[64], const unsigned char *message, size_t count) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int isGood = context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1
        && EVP_DigestVerify(context, signature, 64, message, count) == 1;
    EVP_MD_CTX_free(context);
    return isGood;
}

static inline int segue_jose_ed25519_sign(EVP_PKEY *key, unsigned char signature[64], const unsigned char *message, size_t count) {
    size_t written = 64;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int isMade = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1
        && EVP_DigestSign(context, signature, &written, message, count) == 1 && written == 64;
    EVP_MD_CTX_free(context);
    return isMade;
}

static inline EVP_PKEY *segue_jose_ed25519_generate(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

/// The 32 bytes of an Ed25519 key's public half; 0 when the key is of another kind.
static inline int segue_jose_ed25519_public_bytes(EVP_PKEY *key, unsigned char x[32]) {
    size_t count = 32;
    return EVP_PKEY_is_a(key, "ED25519") && EVP_PKEY_get_raw_public_key(key, x, &count) == 1 && count == 32;
}

static inline int segue_jose_refuse_password(char *buffer, int size, int writing, void *context) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

/// Reads a private key from PEM in memory without ever asking a terminal for a password.
static inline EVP_PKEY *segue_jose_private_key(const void *pem, int count) {
    BIO *bio = BIO_new_mem_buf(pem, count);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, segue_jose_refuse_password, NULL);
    BIO_free_all(bio);
    return key;
}

/// A memory BIO with the key as PKCS#8 PEM in the clear, wiped when it is freed; NULL when that fails.
static inline BIO *segue_jose_private_pem(EVP_PKEY *key, char **bytes, long *count) {
    BIO *bio = BIO_new(BIO_s_secmem());
    if (bio == NULL) return NULL;
    if (PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1) {
        *count = BIO_get_mem_data(bio, bytes);
        if (*count > 0) return bio;
    }
    BIO_free_all(bio);
    return NULL;
}
