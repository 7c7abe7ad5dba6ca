package egresstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Certify writes files into dir: cert.pem, a certificate for names; key.pem, its key; ca.pem, the
// certificate of its authority. They are files because clients and servers are other processes.
func Certify(dir string, names ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	from, until := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp-jail's tests"}, NotBefore: from, NotAfter: until,
		SubjectKeyId: []byte("mcp-jail's tests"), // some clients find the authority by it
		IsCA:         true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	host := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: names, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for file, c := range map[string]*x509.Certificate{"ca.pem": ca, "cert.pem": host} {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, key.Public(), key)
		if err != nil {
			return err
		}
		if err := write(dir, file, "CERTIFICATE", der, 0o644); err != nil {
			return err
		}
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(dir, "key.pem", "PRIVATE KEY", der, 0o600)
}

func write(dir, file, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
