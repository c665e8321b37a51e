// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAMessageHasNoCredentials(t *testing.T) {
	for _, form := range []string{
		"postgres://user:%s@db.example.com:5432/app", "postgresql+ssl://:%s@db/app?x=y", "https://%s@example.com", "jdbc:mysql://h/db?user=u&password=%s",
		"user:%s@tcp(db.example.com:3306)/app", "user:%s@unix(/run/mysql.sock)/app", "user:%s@db.example.com:5432", "user:%s@db:5432", "user:%s@db",
		"host=db user=app password=%s port=5432", "Server=db;User Id=app;Pwd=%s;", "PASSWORD = %s",
	} {
		for _, secret := range []string{"hunter2", "p@ss", "p/a/ss", "p#a?s:s", "p%40ss%2F", "p$!*()", "p;a&b'c", "ünï"} {
			typed := fmt.Sprintf(form, secret)
			for _, message := range []string{fmt.Sprintf("%q is not HOST:PORT", typed), "unknown word " + typed + " here", typed} {
				if got := WithoutCredentials(message); strings.Contains(got, secret) || !strings.Contains(got, hidden) {
					t.Errorf("%s: %s", message, got)
				}
			}
		}
	}
	for _, message := range []string{
		`unknown "postgres://user:pass word \" x@db.example.com"`, `unknown "user:pass word@tcp(db)/x"`, `host=db password='pass word \' x' port=1`,
	} {
		if got := WithoutCredentials(message); strings.Contains(got, " word") {
			t.Errorf("%s: %s", message, got)
		}
	}
}

func TestAnEncodedPasswordIsInNoMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~]{6,20}`).Draw(t, "secret")
		typed := url.URL{Scheme: "postgres", User: url.UserPassword("app", secret), Host: "db.example.com:5432", Path: "/app"}
		encoded := typed.User.String()[len("app:"):]
		if got := WithoutCredentials("unknown " + typed.String()); strings.Contains(got, encoded) || !strings.HasSuffix(got, "@db.example.com:5432/app") {
			t.Errorf("%s", got)
		}
	})
}

func TestWhatHasNoCredentialsStaysAsItIs(t *testing.T) {
	for _, message := range []string{
		`"db.example.com:5432": the port must be a number`, "see https://fairlead.dev/docs#a", "registry.example.com/app:v1@sha256:0123abcd", "app:v1@sha256:0123abcd",
		"charts/pkg@v1.2.3/values.yaml:3:5: wrong", "system:serviceaccount:shop:web", "[2001:db8::1]:443", "mail ops@example.com", "set spec.passwordless=true",
	} {
		if got := WithoutCredentials(message); got != message {
			t.Errorf("%s: %s", message, got)
		}
	}
}
