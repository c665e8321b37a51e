// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// traces are the ways in which a text may show, each with what it is called.
func traces(value string) map[string]string {
	found := map[string]string{"the content": value}
	add := func(name string, sum []byte) {
		found[name+" in hex"] = hex.EncodeToString(sum)
		found[name+" in base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString(sum), "=")
		found[name+" in URLs"] = strings.TrimRight(base64.URLEncoding.EncodeToString(sum), "=")
	}
	add("the content", []byte(value))
	m, one, two, five := md5.Sum([]byte(value)), sha1.Sum([]byte(value)), sha256.Sum256([]byte(value)), sha512.Sum512([]byte(value))
	add("MD5", m[:])
	add("SHA-1", one[:])
	add("SHA-256", two[:])
	add("SHA-512", five[:])
	return found
}

func TestNothingShowsWhatASecretHolds(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var contents []string
	for i, shape := range []string{"hunter2-%s", "\x1b[31m%s\x1b[0m", "{{ .%s }}", "%%!s(%s)\r\nlevel=error", "`); drop %s", "<script>%s</script>"} {
		contents = append(contents, fmt.Sprintf(shape, fmt.Sprintf("%s-%d-%d", s.Namespace, i, time.Now().UnixNano())))
	}
	data := func(of string) []string {
		pairs := []string{"round", of}
		for i, content := range contents {
			pairs = append(pairs, fmt.Sprintf("key-%d", i), content+of)
		}
		return pairs
	}
	first, second := "first-"+s.Namespace, "second-"+s.Namespace
	s.secret("creds", data(first)...)
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: config, type: ConfigChange},
		{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: creds, key: key-0}}]}`)
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonSourceNotFound) // there is no certificate
	s.secret("creds", data(second)...)
	s.succeeded("p", 1)
	s.Tells("RebootPolicy", "p", "RestartVerified", 1)
	s.restarted(deployment, "web", 1)

	places := map[string]string{
		"the policy":   s.Kubectl("get", "rbp", "p", "-o", "yaml", "--show-managed-fields"),
		"v1alpha1":     s.Kubectl("get", "rebootpolicies.v1alpha1.autoreboot.fairlead.dev", "p", "-o", "yaml"),
		"the workload": s.Kubectl("get", "deployments,replicasets,pods", "-o", "yaml"),
		"the events":   s.Kubectl("get", "events.events.k8s.io", "-o", "yaml"),
		"the metrics":  s.Figures(),
		"the log":      s.logs(),
	}
	for place, shown := range places {
		if len(shown) == 0 {
			t.Errorf("%s: nothing to look at", place)
		}
		for _, round := range []string{first, second} {
			for _, content := range append([]string{round}, contents...) {
				if content != round {
					content += round
				}
				for what, trace := range traces(content) {
					if strings.Contains(shown, trace) {
						t.Errorf("%s shows %s of %q", place, what, content)
					}
				}
			}
		}
	}
}

// logs are the ends of the logs of all replicas that run.
func (s *suite) logs() string {
	s.Helper()
	var all strings.Builder
	for _, replica := range s.Running() {
		lines, err := replica.Logs()
		s.Must(err)
		all.WriteString(lines)
	}
	return all.String()
}
