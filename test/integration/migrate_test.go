// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var namespaceOf = regexp.MustCompile(`(?m)^(kind: \w+\nmetadata:\n  name: .*)(\n  namespace: .*)?$`)

// ofCluster is a ClusterRebootPolicy that was given a namespace.
var ofCluster = regexp.MustCompile(`(?m)^(kind: ClusterRebootPolicy\nmetadata:\n  name: .*)\n  namespace: .*$`)

// The API server and the webhooks accept what migrate writes for each input of its tests.
func TestTheAPIServerAcceptsWhatMigrateWrites(t *testing.T) {
	t.Parallel()
	s, _ := newOwnSuite(t, framework.Shipped, framework.Jobs)
	files, err := filepath.Glob(filepath.Join(framework.Root, "cmd/fairlead/command/testdata/migrate/*.out.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		s.Must(err)
		text := namespaceOf.ReplaceAllString(string(raw), "$1\n  namespace: "+s.Namespace)
		text = ofCluster.ReplaceAllString(text, "$1")
		path := filepath.Join(t.TempDir(), filepath.Base(file))
		s.Must(os.WriteFile(path, []byte(text), 0o600))
		if out := s.run("create", "--dry-run=server", "-f", path); strings.Count(out, "created (server dry run)") != strings.Count(text, "\nkind: ") {
			t.Errorf("%s: %s", filepath.Base(file), out)
		}
	}
}

// A Service of type ExternalName is replaced beside itself, from the cluster and with the rights of a user, and a second run
// says the same.
func TestAServiceMovesFromTheClusterWithTheRightsOfTheUser(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("apiVersion: v1\nkind: Service\nmetadata: {name: by-hand, namespace: " + s.Namespace +
		"}\nspec: {type: ExternalName, externalName: 192.0.2.40, ports: [{name: sql, port: 5432}]}\n")
	migrate := []string{"migrate", "external-name", "--live", "--namespace", s.Namespace, "--name-suffix=-now"}
	mover, err := s.User("mover")
	s.Must(err)
	code, stdout, stderr := s.fairlead(mover.Kubeconfig, migrate...)
	if code != 2 || stdout != "" {
		t.Errorf("without rights: exit code %d: %s", code, stdout)
	}
	s.Expect(stderr, "migrate external-name: list services: ", `User "mover" cannot list resource "services"`)
	code, first, stderr := s.fairlead(s.Kubeconfig(), migrate...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s.Expect(stderr, "1 ExternalService written", "from Service "+s.Namespace+"/by-hand")
	s.apply(first)
	s.run("wait", "--for=condition=Ready", "externalservice/by-hand-now", "--timeout=60s")
	s.publishes("by-hand-now", "192.0.2.40")
	if code, again, stderr := s.fairlead(s.Kubeconfig(), migrate...); code != 0 || again != first {
		t.Errorf("a second run: exit code %d: %s\n%s\nand first\n%s", code, stderr, again, first)
	}
}

// One object reads the annotations of Reloader where they are. It is for the namespace that was read, and a second run says
// the same.
func TestWorkloadsOfReloaderMoveByOneObject(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: " + s.Namespace + ", annotations: {reloader.stakater.com/auto: \"true\"}}\n" +
		"spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: none}]}}}\n")
	migrate := []string{"migrate", "reloader", "--live", "--namespace", s.Namespace}
	code, first, stderr := s.fairlead(s.Kubeconfig(), migrate...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s.Expect(stderr, "ClusterRebootPolicy reloader, for 1 workload in 1 namespace", "covers in namespace "+s.Namespace+": Deployment web")
	s.Expect(first, "key: kubernetes.io/metadata.name", "- "+s.Namespace)
	s.apply(strings.Replace(first, "name: reloader", "name: "+s.Namespace, 1)) // other tests have that name
	defer s.run("delete", "clusterrebootpolicy", s.Namespace)
	s.run("wait", "--for=condition=Ready", "clusterrebootpolicy/"+s.Namespace, "--timeout=60s")
	s.run("wait", "--for=create", "rebootpolicy/"+s.Namespace, "--timeout=60s")
	s.run("wait", "--for=condition=Ready", "rebootpolicy/"+s.Namespace, "--timeout=60s")
	if code, again, stderr := s.fairlead(s.Kubeconfig(), migrate...); code != 0 || again != first {
		t.Errorf("a second run: exit code %d: %s\n%s\nand first\n%s", code, stderr, again, first)
	}
}
