// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCluster looks at one cluster from all sides, because each start costs seconds.
func TestCluster(t *testing.T) {
	if _, err := Build(t.Context(), BuildOptions{Output: &testLog{t: t}}); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := start(t, Options{AuditPolicy: policy, APIServerFlags: []string{"--event-ttl=3h"}})
	if took := time.Since(began); took > patience { // 4 s on an idle machine
		t.Errorf("ready after %v", took)
	}

	t.Run("administrator may do anything", func(t *testing.T) {
		if out := kubectl(t, c, "auth", "can-i", "*", "*"); strings.TrimSpace(out) != "yes" {
			t.Errorf("can-i says %q", out)
		}
	})
	t.Run("others may do what RBAC grants", func(t *testing.T) {
		account, err := c.ServiceAccount("shop", "robot")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Kubectl(t.Context(), "--kubeconfig", account.Kubeconfig, "get", "secrets")
		if err == nil || !strings.Contains(err.Error(), `"system:serviceaccount:shop:robot" cannot list resource "secrets"`) {
			t.Fatalf("want a refusal by name, got %v", err)
		}
		kubectl(t, c, "create", "clusterrolebinding", "robot", "--clusterrole=view", "--group=system:serviceaccounts:shop")
		eventually(t, patience, func() error {
			_, err := c.Kubectl(t.Context(), "--kubeconfig", account.Kubeconfig, "get", "configmaps")
			return err
		})
	})
	t.Run("users of the API server may not read etcd", func(t *testing.T) {
		admin := c.Admin()
		err := get(t.Context(), c.pki.etcd, pair{cert: admin.Cert, key: admin.Key}, c.etcdURL+"/health")
		if err == nil || !strings.Contains(err.Error(), "tls:") {
			t.Errorf("want a failed handshake, got %v", err)
		}
	})
	t.Run("what etcd holds can be read, and put there", func(t *testing.T) {
		apply(t, c, `{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "kept"}, "value": 1}`)
		held, err := c.Stored(t.Context(), "/registry/priorityclasses/kept")
		if err != nil || !bytes.Contains(held, []byte("kept")) {
			t.Fatalf("%q, %v", held, err)
		}
		if err := c.Store(t.Context(), "/registry/priorityclasses/more", bytes.ReplaceAll(held, []byte("kept"), []byte("more"))); err != nil {
			t.Fatal(err)
		}
		if out := kubectl(t, c, "get", "priorityclass", "more", "-o", "jsonpath={.value}"); out != "1" {
			t.Errorf("the value is %q", out)
		}
		if _, err := c.Stored(t.Context(), "/registry/priorityclasses/none"); err == nil {
			t.Error("what is not there was read")
		}
	})
	t.Run("services have both address families", func(t *testing.T) {
		apply(t, c, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "both"},
			"spec": {"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]}}`)
		out := kubectl(t, c, "get", "service", "both", "-o", "jsonpath={.spec.clusterIPs}")
		if !strings.Contains(out, `"10.96.`) || !strings.Contains(out, `"fd00:10:96::`) {
			t.Errorf("addresses %s", out)
		}
	})
	t.Run("controllers run and ServiceAccount admission is on", func(t *testing.T) {
		apply(t, c, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
			"spec": {"containers": [{"name": "c", "image": "none.invalid/none"}]}}`)
		if out := kubectl(t, c, "get", "pod", "one", "-o", "jsonpath={.spec.serviceAccountName}"); out != "default" {
			t.Errorf("the pod's ServiceAccount is %q", out)
		}
		if token := kubectl(t, c, "create", "token", "default"); strings.Count(token, ".") != 2 {
			t.Error("no token was issued")
		}
		kubectl(t, c, "create", "namespace", "short-lived")
		kubectl(t, c, "delete", "namespace", "short-lived", "--timeout=20s")
	})
	t.Run("flags and audit policy arrive", func(t *testing.T) {
		if log, err := c.Component(APIServer).Logs(); err != nil || !strings.Contains(log, "Serving securely on 127.0.0.1:") {
			t.Errorf("log of the API server (%v): %s", err, log)
		}
		audit, err := os.ReadFile(c.AuditLog())
		if err != nil || !bytes.Contains(audit, []byte("system:serviceaccount:shop:robot")) {
			t.Errorf("the audit log does not know who asked (%v)", err)
		}
		args := strings.Join(c.Component(APIServer).args, " ")
		if !strings.HasSuffix(args, "--event-ttl=3h") {
			t.Errorf("arguments %s", args)
		}
	})
	t.Run("warnings reach standard error", func(t *testing.T) {
		var stderr bytes.Buffer
		pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "warned"}, "spec": {
			"containers": [{"name": "c", "image": "none.invalid/none", "env": [{"name": "A"}, {"name": "A"}]}]}}`
		if err := c.KubectlIO(t.Context(), strings.NewReader(pod), nil, &stderr, "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stderr.String(), "Warning:") {
			t.Errorf("standard error: %q", stderr.String())
		}
	})
	t.Run("a restart of the API server keeps port and data", func(t *testing.T) {
		url, before := c.URL(), c.Component(APIServer).PID()
		kubectl(t, c, "create", "configmap", "kept", "--from-literal=a=b")
		if err := c.Component(APIServer).Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.URL() != url || c.Component(APIServer).PID() == before {
			t.Errorf("url %s, was %s; pid %d, was %d", c.URL(), url, c.Component(APIServer).PID(), before)
		}
		if out := kubectl(t, c, "get", "configmap", "kept", "-o", "jsonpath={.data.a}"); out != "b" {
			t.Errorf("data %q", out)
		}
	})
	t.Run("a crash of etcd keeps data", func(t *testing.T) {
		etcd := c.Component(Etcd)
		etcd.Kill()
		if pid := etcd.PID(); pid != 0 {
			t.Errorf("pid %d after Kill", pid)
		}
		if err := etcd.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, patience, func() error {
			out, err := c.Kubectl(t.Context(), "get", "configmap", "kept", "-o", "jsonpath={.data.a}")
			if err == nil && out != "b" {
				err = errors.New("data " + out)
			}
			return err
		})
	})
	t.Run("a component that runs is not started twice", func(t *testing.T) {
		if err := c.Component(Etcd).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "runs already") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("stop leaves nothing and refuses more", func(t *testing.T) {
		pids := pidsOf(c)
		if len(pids) != 4 {
			t.Fatalf("processes %v", pids)
		}
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := nothingLeft(c.Folder(), pids); err != nil {
			t.Error(err)
		}
		if _, err := c.Kubectl(t.Context(), "version"); !errors.Is(err, errStopped) {
			t.Errorf("kubectl after Stop: %v", err)
		}
		if _, err := c.Run(t.Context(), Spec{Name: "late", Path: "/bin/sh"}); !errors.Is(err, errStopped) {
			t.Errorf("Run after Stop: %v", err)
		}
	})
}

func TestOwnerKilledLeavesNothingAndAnotherClusterAlone(t *testing.T) {
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), roleVariable+"=owner")
	owner.Stderr = os.Stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill(); _ = owner.Wait() })
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, Options{WithoutControllerManager: true, Output: &testLog{t: t}}) // while the other one starts too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); <-c.Done() })

	var folder string
	var pids []int
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		what, value, _ := strings.Cut(lines.Text(), " ")
		if what == "folder" {
			folder = value
			continue
		}
		pid, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		pids = append(pids, pid)
	}
	if folder == "" || len(pids) != 6 || !alive(pids[0]) || !alive(pids[5]) {
		t.Fatalf("the owner told of folder %q and processes %v", folder, pids)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stdout)
	eventually(t, patience, func() error { return nothingLeft(folder, pids) })
	kubectl(t, c, "get", "namespaces")

	pids = pidsOf(c)
	cancel()
	<-c.Done()
	if err := nothingLeft(c.Folder(), pids); err != nil {
		t.Errorf("after the context ended: %v", err)
	}
}

func TestDeadComponentShowsItsLogAndLeavesNothing(t *testing.T) {
	logs, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	c, err := Start(t.Context(), Options{APIServerFlags: []string{"--no-such-flag"}, LogFolder: logs})
	if err == nil {
		t.Fatal("started with an unknown flag", c.Stop())
	}
	for _, want := range []string{"kube-apiserver ended before it was ready: exit status 1", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(logs, "etcd.log")); err != nil {
		t.Errorf("the log folder was not kept: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func kubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func apply(t *testing.T, c *Cluster, manifest string) {
	t.Helper()
	if err := c.KubectlIO(t.Context(), strings.NewReader(manifest), nil, os.Stderr, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}
