// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const header = "apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n"

func TestAFileIsReadOverTheDefaults(t *testing.T) {
	got, err := Parse("c.yaml", []byte(header+`
clientConnection: {qps: 50}
namespaces: [shop, infra]
controllers:
  concurrency: {ExternalService: 50}
  warmup: false
webhook:
  drainDelay: 12s
  certificates: {source: folder, folder: /certs, injectCA: false}
leaderElection: {leaderElect: false}
logging: {level: 4}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.ClientConnection.QPS = 50
	want.Namespaces = []string{"shop", "infra"}
	want.Controllers.Concurrency["ExternalService"] = 50
	want.Controllers.Warmup = false
	want.Webhook.DrainDelay = duration(12 * time.Second)
	want.Webhook.Certificates.Source = SourceFolder
	want.Webhook.Certificates.Folder = "/certs"
	want.Webhook.Certificates.InjectCA = false
	want.LeaderElection.LeaderElect = false
	want.Logging.Level = "4"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Errorf("a good file is refused: %v", errs)
	}
}

func TestAFileThatSaysNothingIsTheDefaultAndValid(t *testing.T) {
	got, err := Parse("c.yaml", []byte(header))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Errorf("the defaults are refused: %v", errs)
	}
}

func TestAWrongFileIsRefusedWithItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string
	}{
		"unknown field":           {header + "webhok: {}\n", []string{"c.yaml:3", `unknown field "webhok"`}},
		"unknown field, nested":   {header + "webhook:\n  port: 1\n  tls:\n    minversion: VersionTLS12\n", []string{"c.yaml:6", `unknown field "webhook.tls.minversion"`}},
		"two unknown fields":      {header + "a: 1\nb: 2\n", []string{"c.yaml:3", "c.yaml:4"}},
		"wrong type":              {header + "webhook:\n  port: many\n", []string{"c.yaml:4", "webhook.port", "cannot be a string"}},
		"not a duration":          {header + "gracefulShutdownTimeout: soon\n", []string{"c.yaml:3: gracefulShutdownTimeout: ", "soon"}},
		"a duration of no unit":   {header + "namespaces: [a]\nleaderElection:\n  leaseDuration: 15s\n  renewDeadline: 10\n", []string{"c.yaml:6: leaderElection.renewDeadline: "}},
		"given twice":             {header + "namespaces: [a]\nnamespaces: [b]\n", []string{"c.yaml", "line 4", "namespaces"}},
		"not YAML":                {header + "webhook: [\n", []string{"c.yaml", "line"}},
		"a second document":       {header + "---\nwebhook: {port: 1}\n", []string{"c.yaml:3", "a second document"}},
		"not an object":           {"- 1\n", []string{"c.yaml", "not an object"}},
		"empty":                   {"", []string{"c.yaml", APIVersion, Kind}},
		"another version":         {"apiVersion: config.fairlead.dev/v9\nkind: FairleadConfiguration\n", []string{"v9", APIVersion}},
		"another kind":            {"apiVersion: config.fairlead.dev/v1alpha1\nkind: Deployment\n", []string{"Deployment", Kind}},
		"case matters":            {header + "Webhook: {}\n", []string{`unknown field "Webhook"`}},
		"unknown field in a list": {header + "namespaces: [{a: 1}]\n", []string{"namespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(test.content))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestAFileThatIsNotThereOrTooLargeIsNamed(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing.yaml")
	if _, err := Load(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing file: %v", err)
	}
	large := filepath.Join(folder, "large.yaml")
	if err := os.WriteFile(large, []byte(header+strings.Repeat("# ballast\n", maxFileBytes/10)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), large) {
		t.Errorf("large file: %v", err)
	}
}
