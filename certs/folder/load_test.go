// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
)

func TestAFolderThatCannotBeServedIsNamedWithItsRemedy(t *testing.T) {
	root := newIssuer(t, nil)
	good := func() files { return root.files(t, -time.Hour, time.Hour) }
	set := func(name string, text []byte) func() files {
		return func() files { all := good(); all[name] = text; return all }
	}
	without := func(name string) func() files {
		return func() files { all := good(); delete(all, name); return all }
	}
	for title, test := range map[string]struct {
		content func() files
		name    string
		want    []string
	}{
		"empty folder":           {func() files { return nil }, "", []string{"tls.crt", "does not exist", "the Secret must have the key tls.crt"}},
		"no key":                 {without(certs.PrivateKey), "", []string{"tls.key", "does not exist"}},
		"empty certificate":      {set(certs.CertKey, nil), "", []string{"tls.crt", "no certificate"}},
		"junk certificate":       {set(certs.CertKey, []byte("junk")), "", []string{"tls.crt", "no certificate"}},
		"cut certificate":        {func() files { all := good(); all[certs.CertKey] = all[certs.CertKey][:100]; return all }, "", []string{"tls.crt"}},
		"key in the certificate": {func() files { all := good(); all[certs.CertKey] = all[certs.PrivateKey]; return all }, "", []string{"tls.crt", "only certificates belong"}},
		"junk key":               {set(certs.PrivateKey, []byte("junk")), "", []string{"tls.key", "no private key"}},
		"key of another":         {set(certs.PrivateKey, good()[certs.PrivateKey]), "", []string{"tls.key", "does not belong"}},
		"oversized":              {set(certs.CertKey, bytes.Repeat([]byte("x"), maxFile+1)), "", []string{"tls.crt", "larger than"}},
		"expired":                {func() files { return root.files(t, -2*time.Hour, -time.Hour) }, "", []string{"tls.crt", "expired at", "renew it"}},
		"not yet valid":          {func() files { return root.files(t, time.Hour, 2*time.Hour) }, "", []string{"tls.crt", "check the clocks"}},
		"for another name":       {good, "other.svc", []string{"tls.crt", "other.svc", "issue it for that name"}},
		"authority of another":   {set(certs.CAKey, certs.EncodeCertificates(newIssuer(t, nil).certificate)), "", []string{"ca.crt", "would refuse tls.crt"}},
		"authority is junk":      {set(certs.CAKey, []byte("junk")), "", []string{"ca.crt", "no certificate"}},
		"intermediate left out": {func() files {
			all := newIssuer(t, root).files(t, -time.Hour, time.Hour)
			all[certs.CAKey] = certs.EncodeCertificates(root.certificate)
			return all
		}, "", []string{"ca.crt", "would refuse"}},
		"a private key as ca.crt ": {set(certs.CAKey, good()[certs.PrivateKey]), "", []string{"ca.crt", "only certificates belong"}},
	} {
		t.Run(title, func(t *testing.T) {
			path := t.TempDir()
			mount(t, path, test.content())
			refused(t, path, test.name, append(test.want, path))
		})
	}
}

func TestAPathThatIsNoFolderIsNamed(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "file")
	write(t, file, nil)
	refused(t, filepath.Join(path, "nothing"), "", []string{path, "does not exist", "mount the Secret"})
	refused(t, file, "", []string{file, "is not a folder"})

	content := newIssuer(t, nil).files(t, -time.Hour, time.Hour)
	write(t, filepath.Join(path, certs.PrivateKey), content[certs.PrivateKey])
	if err := os.Mkdir(filepath.Join(path, certs.CertKey), 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "", []string{path, "tls.crt", "is not a regular file"})
	if err := os.Remove(filepath.Join(path, certs.CertKey)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(path, certs.CertKey), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "", []string{path, "tls.crt", "is not a regular file"})
}

func TestAFolderIsServedWithItsWholeChain(t *testing.T) {
	root := newIssuer(t, nil)
	middle := newIssuer(t, root)
	content := middle.files(t, -time.Hour, time.Hour)
	content[certs.CertKey] = append(content[certs.CertKey], certs.EncodeCertificates(middle.certificate)...)
	content[certs.CAKey] = certs.EncodeCertificates(root.certificate)
	for title, test := range map[string]struct {
		ca   []byte
		gone bool
		want []byte
	}{
		"with an authority":       {content[certs.CAKey], false, content[certs.CAKey]},
		"with an empty authority": {nil, false, nil},
		"without one":             {nil, true, nil},
	} {
		t.Run(title, func(t *testing.T) {
			path := t.TempDir()
			all := files{certs.CertKey: content[certs.CertKey], certs.PrivateKey: content[certs.PrivateKey], certs.CAKey: test.ca}
			if test.gone {
				delete(all, certs.CAKey)
			}
			mount(t, path, all)
			found, err := load(path, serverName, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Served.Certificate) != 2 {
				t.Errorf("chain of %d", len(found.Served.Certificate))
			}
			if !bytes.Equal(found.Bundle, test.want) || (found.Bundle == nil) != (test.want == nil) {
				t.Errorf("bundle %q, want %q", found.Bundle, test.want)
			}
		})
	}
}

func refused(t *testing.T, path, name string, want []string) {
	t.Helper()
	_, err := load(path, name, time.Now())
	if err == nil {
		t.Fatal("it is served")
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "BEGIN") {
		t.Errorf("the error quotes the file: %v", err)
	}
}
