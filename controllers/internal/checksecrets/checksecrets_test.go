// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package checksecrets

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/checksecrets/checksecretstest"
)

var at = field.NewPath("healthCheck")

const (
	trusting   = `{httpGet: {}, tls: {caSecretName: ca}}`
	presenting = `{tcpSocket: {steps: [{expect: hello}, {sendFrom: {prefix: "AUTH ", secretKeyRef: {name: login, key: password}}}, {sendFrom: {secretKeyRef: {name: login, key: token}}}]}, tls: {clientCertificateSecretName: client}}`
)

func check(t *testing.T, text string) *common.Check {
	t.Helper()
	var c common.Check
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestCredentialsAreReadByTheirKeysAndNeverShown(t *testing.T) {
	certificate, key := checksecretstest.NewPair(t)
	_, stranger := checksecretstest.NewPair(t)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{
		"password": []byte("hidden-1"), "token": []byte("hidden-2"), "tls.crt": certificate, "tls.key": key,
	}}
	now := time.Unix(1e9, 0)
	a := New(secrets, func() time.Time { return now })
	got := a.Of(t.Context(), "shop", at, check(t, presenting), time.Time{})
	if got.Problem != "" || len(got.Values) != 2 || string(got.Values[0].Reveal()) != "hidden-1" || string(got.Values[1].Reveal()) != "hidden-2" {
		t.Fatalf("got %+v", got)
	}
	if pem := string(got.ClientPEM.Reveal()); !strings.Contains(pem, string(certificate)) || !strings.Contains(pem, string(key)) {
		t.Error("the pair of the client is not there")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(format, got) + fmt.Sprintf(format, a.entries); strings.Contains(text, "hidden") || strings.Contains(text, "68696464656e") {
			t.Errorf("%s shows a Secret: %s", format, text)
		}
	}
	for name, test := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"no key":         {map[string][]byte{"tls.crt": certificate, "tls.key": key, "token": nil}, "Secret login, which healthCheck.tcpSocket.steps[1].sendFrom.secretKeyRef names, has no password"},
		"a long value":   {map[string][]byte{"tls.crt": certificate, "tls.key": key, "password": make([]byte, 1025), "token": {1}}, "has a password of more than 1 KiB"},
		"another's key":  {map[string][]byte{"tls.crt": certificate, "tls.key": stranger}, "Secret client, which healthCheck.tls.clientCertificateSecretName names, has no tls.crt with the certificate of its tls.key"},
		"no certificate": {map[string][]byte{"tls.key": key}, "has no tls.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(&checksecretstest.Secrets{Data: test.data}, time.Now).Of(t.Context(), "shop", at, check(t, presenting), time.Time{})
			if !strings.Contains(got.Problem, test.want) {
				t.Errorf("%q, want %q", got.Problem, test.want)
			}
		})
	}
}

func TestASecretIsReadAgainSoonAfterACheckByItHasFailed(t *testing.T) {
	now := time.Unix(1e9, 0)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{"ca.crt": checksecretstest.NewCertificate(t)}}
	a := New(secrets, func() time.Time { return now })
	of := func(failed time.Time) { a.Of(t.Context(), "shop", at, check(t, trusting), failed) }
	of(time.Time{})
	failed := now.Add(time.Second)
	now = now.Add(minAge - time.Second)
	if of(failed); secrets.Reads != 1 {
		t.Errorf("%d reads within %s", secrets.Reads, minAge)
	}
	now = now.Add(time.Second)
	if of(failed); secrets.Reads != 2 {
		t.Errorf("%d reads after a failed check", secrets.Reads)
	}
	now = now.Add(minAge)
	if of(failed); secrets.Reads != 2 {
		t.Errorf("%d reads, though the Secret was read since the check failed", secrets.Reads)
	}
}

func TestASecretIsReadAboutEveryMinuteAndItsLastGoodContentsKept(t *testing.T) {
	now := time.Unix(1e9, 0)
	secrets := &checksecretstest.Secrets{Data: map[string][]byte{"ca.crt": checksecretstest.NewCertificate(t)}}
	a := New(secrets, func() time.Time { return now })
	of := func() Content { return a.Of(t.Context(), "shop", at, check(t, trusting), time.Time{}) }
	first := of()
	if first.Problem != "" || len(first.RootPEM) == 0 || first.Due.Sub(now) < maxAge || first.Due.Sub(now) > maxAge*6/5 {
		t.Fatalf("got %+v", first)
	}
	now = now.Add(maxAge - time.Second)
	if of(); secrets.Reads != 1 {
		t.Errorf("%d reads within a minute", secrets.Reads)
	}
	now = now.Add(time.Minute)
	secrets.Err = errors.New("the API server is busy")
	if got := of(); secrets.Reads != 2 || got.Problem != "" || len(got.RootPEM) == 0 {
		t.Errorf("after %d reads: %+v", secrets.Reads, got)
	}
	now = now.Add(time.Minute)
	secrets.Err = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	if got := of(); got.Problem != "" || len(got.RootPEM) == 0 {
		t.Errorf("an absence of something else: %+v", got)
	}
	for _, once := range []error{apierrors.NewNotFound(corev1.Resource("secrets"), "ca"), apierrors.NewForbidden(corev1.Resource("secrets"), "ca", nil)} {
		for _, err := range []error{once, nil} {
			now = now.Add(2 * time.Minute)
			secrets.Err = err
			if got := of(); got.Problem != "" || len(got.RootPEM) == 0 {
				t.Errorf("after %v once, and then %v: %+v", once, err, got)
			}
		}
	}
	now = now.Add(2 * time.Minute)
	secrets.Err = apierrors.NewNotFound(corev1.Resource("secrets"), "ca")
	if got := of(); got.Problem != "" || got.Due.Sub(now) > retry*6/5 {
		t.Errorf("a Secret that one read does not find: %+v", got)
	}
	now = now.Add(2 * retry)
	if got := of(); !strings.Contains(got.Problem, "does not exist") || got.RootPEM != nil {
		t.Errorf("a Secret that is gone: %+v", got)
	}
}

func TestFaultsOfASecretSayWhatToDoAndQuoteNothing(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		err  error
		want string
	}{
		"missing":   {nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "ca"), "does not exist"},
		"forbidden": {nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "ca", nil), "grant the operator's service account get"},
		"failing":   {nil, errors.New("hidden detail"), "cannot be read"},
		"empty":     {nil, nil, "has no ca.crt"},
		"garbage":   {[]byte("hidden detail"), nil, "without a certificate"},
		"huge":      {make([]byte, maxPEM+1), nil, "more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(&checksecretstest.Secrets{Data: map[string][]byte{"ca.crt": c.data}, Err: c.err}, func() time.Time { return time.Unix(1e9, 0) })
			got := a.Of(t.Context(), "shop", at, check(t, trusting), time.Time{})
			if !strings.Contains(got.Problem, c.want) || strings.Contains(got.Problem, "hidden") || got.RootPEM != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := New(&checksecretstest.Secrets{Err: errors.New("any")}, func() time.Time { return now })
	for i := range maxEntries + 100 {
		a.Of(t.Context(), fmt.Sprint(i), at, check(t, trusting), time.Time{})
	}
	if len(a.entries) > maxEntries {
		t.Errorf("%d are kept", len(a.entries))
	}
	now = now.Add(time.Hour)
	a.Of(t.Context(), "last", at, check(t, trusting), time.Time{})
	if len(a.entries) != 1 {
		t.Errorf("%d are kept that no probe uses", len(a.entries)-1)
	}
}
