// Where scripts come from. Under `require-trusted-types-for 'script'` a worklet takes no address but one that a policy has passed; this one passes the
// addresses of this folder's own origin, and nothing else.

const policy = globalThis.trustedTypes?.createPolicy("segue-media", {
  createScriptURL(address) {
    if (new URL(address, import.meta.url).origin !== new URL(import.meta.url).origin) throw new TypeError("scripts come from this origin only");
    return address;
  },
});

/** The address of a script beside this one, in the form that a worklet takes. */
export function scriptAddress(name) {
  const address = new URL(name, import.meta.url).href;
  return policy ? policy.createScriptURL(address) : address;
}
