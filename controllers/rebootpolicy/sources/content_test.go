// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func certificate(t *testing.T, serial int64, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: epoch, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestTheLeafCertificateAloneCounts(t *testing.T) {
	until := epoch.Add(90 * 24 * time.Hour)
	leaf, renewed, authority := certificate(t, 1, until), certificate(t, 2, until.Add(time.Hour)), certificate(t, 3, until.Add(time.Minute))
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	look := func(file []byte) State {
		s := newSuite(t, Watch)
		s.put(secret("tls"), epoch, func(data map[string][]byte) {
			if data["other"] = []byte("x"); file != nil {
				data["tls.crt"] = file
			}
		})
		return s.observe(alice, Want{Ref: secret("tls"), Certificate: "tls.crt"})[0]
	}
	first := look(leaf)
	if !first.NotAfter.Equal(until) || first.Fingerprint == "" || !first.Written.Equal(epoch) {
		t.Errorf("got %+v", first)
	}
	for name, same := range map[string][]byte{
		"with its chain":            bytes.Join([][]byte{leaf, authority}, nil),
		"with text before":          bytes.Join([][]byte{[]byte("subject=/CN=x\n"), leaf}, nil),
		"after its private key":     bytes.Join([][]byte{private, leaf}, nil),
		"with another end of lines": bytes.ReplaceAll(leaf, []byte("\n"), []byte("\r\n")),
	} {
		if got := look(same); got.Fingerprint != first.Fingerprint || !got.NotAfter.Equal(until) {
			t.Errorf("%s: got %+v, want %+v", name, got, first)
		}
	}
	if got := look(bytes.Join([][]byte{renewed, authority}, nil)); got.Fingerprint == first.Fingerprint || got.Unknown != "" {
		t.Errorf("renewed: got %+v", got)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"no such key":       {nil, autorebootv1.ReasonKeyNotFound},
		"empty":             {[]byte{}, autorebootv1.ReasonNotACertificate},
		"no PEM":            {[]byte("password"), autorebootv1.ReasonNotACertificate},
		"a private key":     {private, autorebootv1.ReasonNotACertificate},
		"no certificate":    {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("password")}), autorebootv1.ReasonNotACertificate},
		"cut short":         {leaf[:len(leaf)/2], autorebootv1.ReasonNotACertificate},
		"damaged, with one": {bytes.Join([][]byte{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), leaf}, nil), autorebootv1.ReasonNotACertificate},
	} {
		if got := look(c.file); got != (State{Unknown: c.want}) {
			t.Errorf("%s: got %+v, want %s", name, got, c.want)
		}
	}
}

func TestKeysThatAreNotChosenDoNotCount(t *testing.T) {
	s := newSuite(t, Watch)
	ref := secret("a")
	s.write(ref, "k", "1", epoch)
	before := s.observe(alice, want("a", "k"), want("a", "k", "x"), want("a"), Want{Ref: ref, Keys: []string{}})
	if before[2] != before[3] {
		t.Error("no keys are not all keys")
	}
	s.write(ref, "x", "", epoch)
	s.updated(ref)
	after := s.observe(alice, want("a", "k"), want("a", "k", "x"), want("a"))
	if before[0].Fingerprint != after[0].Fingerprint {
		t.Error("another key counts")
	}
	if before[1].Fingerprint == after[1].Fingerprint || before[2].Fingerprint == after[2].Fingerprint {
		t.Error("a key that appears does not count")
	}
}

// The check for newer pods relies on TestWrittenIsNeverEarlierThanTheLastWrite: a time that is too early would drop a required
// restart.
func TestWrittenIsNeverEarlierThanTheLastWrite(t *testing.T) {
	const minute = time.Minute
	ref := secret("a")
	set := func(key, value string) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = []byte(value) }
	}
	for name, c := range map[string]struct {
		want Want
		// first is written at the epoch and seen a minute later.
		first []metav1.ManagedFieldsEntry
		// then is written 10 minutes after the epoch, and seen 11 after.
		then        []metav1.ManagedFieldsEntry
		change      func(map[string][]byte)
		atFirst, at time.Duration
	}{
		"a chosen key at first sight, and when it was set": {
			want("a", "k"), []metav1.ManagedFieldsEntry{owns(epoch, "k")},
			[]metav1.ManagedFieldsEntry{owns(epoch.Add(10*minute), "k")}, set("k", "2"), 0, 10 * minute,
		},
		"all keys at first sight: one may have been removed since": {
			want("a"), []metav1.ManagedFieldsEntry{owns(epoch, "k")},
			[]metav1.ManagedFieldsEntry{owns(epoch.Add(10*minute), "k")}, set("k", "2"), minute, 10 * minute,
		},
		"the latest of several managers": {
			want("a"), []metav1.ManagedFieldsEntry{owns(epoch, "k")},
			[]metav1.ManagedFieldsEntry{owns(epoch.Add(10*minute), "k"), owns(epoch, "other")}, set("k", "2"), minute, 10 * minute,
		},
		"managers of labels do not count": {
			want("a", "k"), []metav1.ManagedFieldsEntry{owns(epoch, "k"), entry(epoch.Add(minute), `{"f:metadata":{"f:labels":{}}}`)},
			[]metav1.ManagedFieldsEntry{owns(epoch, "k"), entry(epoch.Add(10*minute), `{"f:metadata":{"f:labels":{}}}`)}, nil, 0, 0,
		},
		"binary data": {
			want("a", "k"), []metav1.ManagedFieldsEntry{entry(epoch, `{"f:binaryData":{"f:k":{}}}`)},
			[]metav1.ManagedFieldsEntry{entry(epoch.Add(10*minute), `{"f:binaryData":{"f:k":{}}}`)}, set("k", "2"), 0, 10 * minute,
		},
		"a key that was removed, which is recorded nowhere": {
			want("a"), []metav1.ManagedFieldsEntry{owns(epoch, "k", "old")},
			[]metav1.ManagedFieldsEntry{owns(epoch, "k")}, func(data map[string][]byte) { delete(data, "old") }, minute, 11 * minute,
		},
		"a chosen key that was removed": {
			want("a", "k", "old"), []metav1.ManagedFieldsEntry{owns(epoch, "k", "old")},
			[]metav1.ManagedFieldsEntry{owns(epoch, "k")}, func(data map[string][]byte) { delete(data, "old") }, 0, 11 * minute,
		},
		"no managedFields": {
			want("a", "k"), nil, nil, set("k", "2"), minute, 11 * minute,
		},
		"managedFields that cannot be read": {
			want("a", "k"), []metav1.ManagedFieldsEntry{entry(epoch, `{"f:data":1}`), {Manager: "m"}},
			nil, set("k", "2"), minute, 11 * minute,
		},
		"nothing happened": {
			want("a"), []metav1.ManagedFieldsEntry{owns(epoch, "k")}, []metav1.ManagedFieldsEntry{owns(epoch, "k")}, nil, minute, minute,
		},
		"written again with the same content: there may have been another in between": {
			want("a"), []metav1.ManagedFieldsEntry{owns(epoch, "k")}, []metav1.ManagedFieldsEntry{owns(epoch.Add(10*minute), "k")}, nil, minute, 10 * minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, Watch)
			s.put(ref, time.Time{}, func(data map[string][]byte) { data["k"], data["old"] = []byte("1"), []byte("1") })
			s.fakeAPI.objects[ref].fields = c.first
			s.advance(minute)
			if got := s.observe(alice, c.want)[0]; !got.Written.Equal(epoch.Add(c.atFirst)) {
				t.Errorf("at first sight: got %s, want %s", got.Written, epoch.Add(c.atFirst))
			}
			s.advance(10 * minute)
			s.put(ref, time.Time{}, func(data map[string][]byte) {
				if c.change != nil {
					c.change(data)
				}
			})
			s.fakeAPI.objects[ref].fields = c.then
			s.updated(ref)
			if got := s.observe(alice, c.want)[0]; !got.Written.Equal(epoch.Add(c.at)) {
				t.Errorf("after the change: got %s, want %s", got.Written, epoch.Add(c.at))
			}
			s.remove(ref)
			s.events.OnDelete(meta(ref, s.version, nil))
			s.advance(minute)
			if got := s.observe(alice, c.want)[0]; !got.Missing || !got.Written.Equal(epoch.Add(12*minute)) {
				t.Errorf("after it was removed: got %+v, want %s", got, epoch.Add(12*minute))
			}
			s.write(ref, "k", "1", epoch.Add(13*minute))
			s.events.OnAdd(meta(ref, s.version, nil), false)
			s.advance(5 * minute)
			if got := s.observe(alice, want("a"))[0]; got.Missing || got.Written.Before(epoch.Add(13*minute)) {
				t.Errorf("after it came back: got %+v", got)
			}
		})
	}
}
