#!/usr/bin/env python3
"""Runs testssl.sh and sslscan against a TLS port and judges what they find: prints a line per finding that matters and `N passed, N failed`.

Neither tool can show a client certificate, so the relay must run with `--client-certificates optional`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

SECONDS_MAX = 400

# Findings of testssl.sh that are about development certificates and addresses, not about the transport: id prefix and why it is let pass.
ALLOWED = {
    "cert_chain_of_trust": "the development CA is in no public trust store, on purpose",
    "cert_trust": "testssl.sh is given 127.0.0.1 while the certificate also names localhost",
    "cert_revocation": "a development CA offers its CRL as a file",
    "cert_crlDistributionPoints": "a development CA offers its CRL as a file",
    "cert_ocspURL": "a development CA runs no OCSP responder",
    "OCSP_stapling": "a development CA runs no OCSP responder",
    "cert_mustStapleExtension": "a development CA runs no OCSP responder",
    "DNS_CAArecord": "localhost has no CAA record",
    "certificate_transparency": "a private CA is in no log",
    "cert_extlifeSpan": "development certificates may live longer than public ones",
    "cert_expirationStatus": "development certificates live for days and are renewed by the relay",
    "cert_validityPeriod": "development certificates live for days and are renewed by the relay",
    "cert_notAfter": "development certificates live for days and are renewed by the relay",
    "sessionresumption_ticket": "testssl.sh may hang up before TLS 1.3's ticket comes; resumption has tests of its own",
    "engine_problem": "about testssl.sh's own openssl",
    "scanTime": "about the scan itself",
    "old_fallback": "about testssl.sh's own openssl",
    "BREACH": "about compressed answers of the page scanned; the relay compresses none",
}
BAD = {"LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL", "WARN"}


@dataclass
class Finding:
    tool: str
    name: str
    verdict: str
    fault: bool
    excuse: str | None = None


def excuse_for(identifier: str) -> str | None:
    return next((reason for prefix, reason in ALLOWED.items() if identifier.startswith(prefix)), None)


def testssl(port: int) -> list[Finding]:
    """testssl.sh's protocols, categories, forward secrecy, server preferences, defaults and every known flaw."""
    program = next((name for name in ("testssl", "testssl.sh") if subprocess.run(["which", name], capture_output=True).returncode == 0), None)
    assert program, "testssl.sh is not installed: Deploy/install test"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [program, "--quiet", "--color", "0", "--warnings", "off", "--nodns", "none", "--ip", "127.0.0.1", "--connect-timeout", "10"]
        command += ["--openssl-timeout", "20", "-p", "-s", "-f", "-P", "-S", "-U", "--jsonfile", str(report), f"localhost:{port}"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX, stdin=subprocess.DEVNULL)
        assert report.exists(), f"testssl.sh wrote no report:\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        rows = json.loads(report.read_text())
    findings = []
    for row in rows:
        bad = row["severity"] in BAD
        excuse = excuse_for(row["id"]) if bad else None
        findings.append(Finding("testssl", row["id"], f"{row['severity']}: {row['finding']}", bad and excuse is None, excuse))
    seen = {row["id"] for row in rows}
    # A scan that broke off early must not pass for a clean one.
    for identifier in ("SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3", "heartbleed", "ROBOT", "SWEET32", "LUCKY13", "RC4", "CRIME_TLS", "PFS"):
        if identifier not in seen:
            findings.append(Finding("testssl", identifier, "not in the report: the scan broke off", True))
    return findings


def sslscan(port: int) -> list[Finding]:
    """sslscan's protocols, suites, renegotiation, compression, heartbleed and key strengths."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["sslscan", "--no-colour", f"--xml={report}", "--show-ciphers", "--sni-name=localhost", "--connect-timeout=10", f"127.0.0.1:{port}"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX, stdin=subprocess.DEVNULL)
        assert report.exists(), f"sslscan wrote no report:\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        root = ElementTree.parse(report).getroot().find("ssltest")
    assert root is not None, "sslscan's report is empty"
    findings = []
    wanted = {("ssl", "2"): "0", ("ssl", "3"): "0", ("tls", "1.0"): "0", ("tls", "1.1"): "0", ("tls", "1.2"): "1", ("tls", "1.3"): "1"}
    for protocol in root.iter("protocol"):
        key = (protocol.get("type", ""), protocol.get("version", ""))
        enabled = protocol.get("enabled", "")
        findings.append(Finding("sslscan", " ".join(key), f"enabled={enabled}", enabled != wanted.pop(key, "0")))
    findings += [Finding("sslscan", " ".join(key), "not in the report", True) for key in wanted]
    for cipher in root.iter("cipher"):
        name = cipher.get("cipher", "")
        aead = "GCM" in name or "CHACHA20" in name
        forward = name.startswith(("ECDHE", "TLS_"))
        findings.append(
            Finding("sslscan", name, f"{cipher.get('sslversion')}, {cipher.get('bits')} bits, {cipher.get('strength')}", not (aead and forward))
        )
    for flaw in root.iter("heartbleed"):
        findings.append(
            Finding("sslscan", f"heartbleed {flaw.get('sslversion')}", f"vulnerable={flaw.get('vulnerable')}", flaw.get("vulnerable") != "0")
        )
    for compression in root.iter("compression"):
        findings.append(Finding("sslscan", "compression", f"supported={compression.get('supported')}", compression.get("supported") != "0"))
    for renegotiation in root.iter("renegotiation"):
        insecure = renegotiation.get("supported") == "1" and renegotiation.get("secure") != "1"
        findings.append(
            Finding("sslscan", "renegotiation", f"supported={renegotiation.get('supported')} secure={renegotiation.get('secure')}", insecure)
        )
    for group in root.iter("group"):
        findings.append(Finding("sslscan", f"group {group.get('name')}", f"{group.get('bits')} bits", int(group.get("bits", "0")) < 112))
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True, help="the port on 127.0.0.1")
    parser.add_argument("--tool", choices=("testssl", "sslscan"), action="append", help="only this one")
    parser.add_argument("--all", action="store_true", help="print what is fine as well")
    arguments = parser.parse_args()
    tools = {"testssl": testssl, "sslscan": sslscan}
    findings = [finding for name in arguments.tool or tools for finding in tools[name](arguments.port)]
    for finding in findings:
        if finding.fault or finding.excuse or arguments.all:
            mark = "FAIL " if finding.fault else "known" if finding.excuse else "ok   "
            print(f"  {mark} {finding.tool} {finding.name}: {finding.verdict}" + (f" ({finding.excuse})" if finding.excuse else ""))
    failed = sum(finding.fault for finding in findings)
    print(f"{len(findings) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
