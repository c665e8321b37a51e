// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatPublishPrintsPassesVet(t *testing.T) {
	for line, want := range map[string][]string{
		"db.example.com:5432":                                                {"\n  name: db\n", "dns:\n      name: db.example.com", "tcpSocket: {}", "name: tcp\n    port: 5432"},
		"DB.example.com.:5432 --check=grpc":                                  {"name: db.example.com", "grpc: {}"},
		"192.0.2.10:5432 192.0.2.20:6432 --name=billing-db -n shop":          {"name: billing-db\n  namespace: shop", "- 192.0.2.20", "priority: 1", "port: 6432"},
		"[2001:db8::1]:443 --name=a --check=https --path=/healthz":           {"2001:db8::1", "path: /healthz", "scheme: HTTPS", "name: https"},
		"a.example.com:80 b.example.com:80 c.example.com:80 --check=http":    {"httpGet: {}", "standby-2", "priority: 2"},
		"a.example.com:80 b.example.com:80 --check=none":                     {"standby-1"},
		"db_eu.example.com:5432":                                             {"\n  name: db-eu\n", "name: db_eu.example.com"},
		"--patroni=db1.example.com,db2.example.com,192.0.2.3:5432 --name=db": {"port: 8008", "path: /primary", "name: postgres\n    port: 5432", "    interval: 2s\n", "failback: Manual", "member-2", "priority: 2"},
		"--patroni=db1.example.com:5432,db2.example.com:5433":                {"\n  name: db1\n", "port: 5433"},
		"--redis=192.0.2.1,[2001:db8::1]:6379 --name=sessions":               {"name: redis\n    port: 6379", `send: ROLE\r\n`, "expect: master", "2001:db8::1"},
		"--redis=a.example.com:6379 --redis-secret=login":                    {"name: login", "key: password", "prefix: 'AUTH '", "expect: +OK"},
		"db.example.com:5432 -o json":                                        {`"kind": "ExternalService"`},
	} {
		code, stdout, stderr := runCommand(t, append([]string{"publish"}, strings.Fields(line)...)...)
		if code != 0 || strings.Contains(stdout, "status") || strings.Contains(stdout, "creationTimestamp") {
			t.Errorf("%s: exit code %d, %s%s", line, code, stdout, stderr)
		}
		for _, want := range want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: does not say %q:\n%s", line, want, stdout)
			}
		}
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, _ := runCommand(t, "vet", "--warnings-as-errors", file); code != 0 {
			t.Errorf("%s: %s", line, stdout)
		}
	}
}

func TestNoPasswordThatIsTypedIsRepeated(t *testing.T) {
	for _, typed := range []string{
		"postgres://user:hunter2@db.example.com:5432/app", "postgres://user:hun ter2@db.example.com:5432", "user:hunter2@tcp(db.example.com:3306)/app",
		"user:hunter2@db.example.com:5432", "user:hunter2@db", "host=db.example.com password=hunter2 port=5432", "postgres://user:p%40hunter2@db:5432",
		"postgres://user:p@s/hunter2@db:5432", "//user:hunter2@db:5432",
	} {
		for _, arguments := range [][]string{{"publish", typed}, {"publish", "db.example.com:5432", typed}, {"publish", "--patroni", typed}, {"publish", "--redis", typed}, {"publish", "db.example.com:1", "--name", typed}, {"why", typed}, {"vet", typed}, {typed}} {
			if strings.Contains(typed, " ") && arguments[0] != "publish" {
				continue // a message without quotes does not tell where a password with spaces ends
			}
			code, stdout, stderr := runCommand(t, arguments...)
			if code == 0 || strings.Contains(stdout+stderr, "ter2") || stderr == "" {
				t.Errorf("%q: exit code %d, %s%s", arguments, code, stdout, stderr)
			}
		}
	}
	manifest := filepath.Join(t.TempDir(), "a.yaml")
	content := "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: db, namespace: shop}\n" +
		"spec: {ports: [{name: sql, port: 5432}], endpoints: [{name: a, dns: {name: \"postgres://user:hunter2@db.example.com\"}}]}\n"
	if err := os.WriteFile(manifest, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		if code, stdout, stderr := runCommand(t, "vet", "-o", format, manifest); code != 1 || strings.Contains(stdout+stderr, "hunter2") || !strings.Contains(stdout, "dns.name") {
			t.Errorf("vet: exit code %d, %s%s", code, stdout, stderr)
		}
	}
}

func TestWhatCannotBePublishedIsOneLineWithARemedy(t *testing.T) {
	for line, want := range map[string]string{
		"":                                "db.example.com:5432",
		"db.example.com":                  "HOST:PORT",
		"db.example.com:0":                "from 1 to 65535",
		"db.example.com:http":             "from 1 to 65535",
		"192.0.2.10:5432":                 "--name",
		"db.example.com:1 --check=ping":   `--check "ping"`,
		"db.example.com:1 --path=/a":      "--path is for --check=http or https",
		"db.example.com:1 -o xml":         `--output "xml"`,
		"1db.example.com:1":               "--name",
		"127.0.0.1:1 --name=a":            "spec.endpoints[0].addresses[0]",
		"db.example.com:1 --name=Billing": "metadata.name",
		"db.example.com:1 --port=1":       "--port",

		"db.example.com:1 --redis=a.example.com:1":          "one of HOST:PORT, --patroni and --redis",
		"--patroni=a.example.com:1 --redis=b.example.com:1": "one of HOST:PORT, --patroni and --redis",
		"--patroni=a.example.com:1 --check=tcp":             "--check with the first alone",
		"--patroni=a.example.com,b.example.com":             "HOST:PORT",
		"--patroni=a.example.com:1 --path=/a":               "--path is for",
		"--patroni=a.example.com:1 --redis-secret=a":        "--redis-secret is for --redis",
		"db.example.com:1 --check=patroni":                  `--check "patroni"`,
		"--redis=a.example.com:1 --redis-secret=A_b":        "secretKeyRef.name",
	} {
		code, stdout, stderr := runCommand(t, append([]string{"publish"}, strings.Fields(line)...)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, %q, %q, want %q", line, code, stdout, stderr, want)
		}
	}
}
