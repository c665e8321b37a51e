// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	root = "../.."
	// podCIDR lies in a range that test/externalnet has servers stand for.
	podCIDR = "198.19.0.0/16"
	// patience is how long a command may take to print what the guide shows.
	patience = 5 * time.Minute
	// settling is how long -update lets it settle.
	settling = 5 * time.Second
)

var update = flag.Bool("update", false, "write what the commands print into the guides")

func TestMain(m *testing.M) { os.Exit(framework.Main(m, 8, func() error { return nil })) }

// reads matches the commands that change nothing, and so can be repeated.
var reads = regexp.MustCompile(`^kubectl (-n \S+ )?(get|describe|events) `)

// Each guide keeps to namespaces of its own.
func TestWhatTheGuidesSayIsSo(t *testing.T) {
	servers, err := externalnet.Open()
	must(t, err)
	defer servers.Close()
	replicas, err := framework.OpenReplicas(t.Context(), framework.Options{
		Root: root, Operator: framework.Outside, Output: os.Stderr, Cluster: cluster.Options{Nodes: 3, PodCIDR: podCIDR},
	}, "--dns-nameservers="+servers.DNS.Addr().String())
	must(t, err)
	defer func() {
		if err := replicas.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("guides", func(t *testing.T) { // ends before the cluster does
		for _, name := range []string{"first-externalservice", "database-failover", "rotated-credential", "lost-pods"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := &reader{T: t, Replicas: replicas, servers: servers, at: map[string]*externalnet.Server{}, file: filepath.Join(root, "docs", "guides", name+".md")}
				r.read()
			})
		}
	})
	if err := framework.NoComplaints(replicas.Complaints()); err != nil {
		t.Error(err)
	}
}

// reader is one who does what a guide says.
type reader struct {
	*testing.T
	*framework.Replicas
	servers *externalnet.Servers
	at      map[string]*externalnet.Server
	file    string
}

func (r *reader) read() {
	raw, err := os.ReadFile(r.file)
	must(r.T, err)
	all := steps(string(raw))
	if len(all) < 5 {
		r.Fatalf("%s has %d steps", r.file, len(all))
	}
	printed := map[int][]string{}
	for _, s := range all {
		if s.outside != "" {
			r.happen(s.outside)
			continue
		}
		if output := r.run(s); !s.shows(output) {
			printed[s.line] = output
			if !*update {
				r.Fatalf("%s:%d: $ %s\nprints\n%s\nand the guide shows\n%s", r.file, s.line, s.command, strings.Join(output, "\n"), strings.Join(s.output, "\n"))
			}
		}
	}
	if len(printed) > 0 {
		must(r.T, os.WriteFile(r.file, []byte(rewritten(string(raw), all, printed)), 0o644))
	}
}

// run returns what a command prints: that which the guide shows, if that comes in time.
func (r *reader) run(s step) (output []string) {
	if strings.HasPrefix(s.command, "export KUBECONFIG=") {
		return nil
	}
	r.Logf("$ %s", s.command)
	began := time.Now()
	err := framework.Eventually(r.Context(), patience, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", s.command)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig(), "KUBECTL_KUBERC=false", "PATH="+filepath.Dir(r.KubectlPath())+":"+os.Getenv("PATH"))
		raw, err := cmd.CombinedOutput()
		output = nil
		if text := strings.TrimRight(string(raw), "\n"); text != "" {
			output = strings.Split(text, "\n")
		} else if err != nil {
			return err // one that is meant prints why
		}
		if reads.MatchString(s.command) && !s.shows(output) && !(*update && time.Since(began) > settling) {
			return fmt.Errorf("prints\n%s", raw)
		}
		return nil
	})
	if err != nil {
		r.Fatalf("%s:%d: $ %s\n%v\nand the guide shows\n%s", r.file, s.line, s.command, err, strings.Join(s.output, "\n"))
	}
	return output
}

// happen makes what happens outside.
func (r *reader) happen(what string) {
	verb, object, _ := strings.Cut(what, " ")
	var err error
	switch server := r.at[object]; verb {
	case "listen":
		err = framework.Eventually(r.Context(), patience, func(context.Context) (err error) { // another suite may listen there
			r.at[object], err = r.servers.TCP(object)
			return err
		})
	case "refuse":
		err = server.Set(externalnet.Behavior{Fault: externalnet.Refuse})
	case "accept":
		err = server.Set(externalnet.Behavior{})
	case cluster.FaultUnready, cluster.FaultImagePull:
		err = r.breakPods(object, verb)
	case "mend":
		err = r.breakPods(object, "")
	default:
		err = fmt.Errorf("unknown")
	}
	if err != nil {
		r.Fatalf("%s: %s: %v", r.file, what, err)
	}
}

// broken gives a label to the pods of a namespace that are made from now on.
const broken = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  reinvocationPolicy: Never
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels/LABEL", value: "FAULT"}]'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE}
`

// breakPods gives a fault to the pods of a namespace that are made from now on, or none.
func (r *reader) breakPods(namespace, fault string) error {
	verb, manifest := "apply", strings.NewReplacer("NAMESPACE", namespace, "LABEL", cluster.FaultLabel, "FAULT", fault).Replace(broken)
	if fault == "" {
		verb = "delete"
	}
	if err := r.KubectlIO(r.Context(), strings.NewReader(manifest), io.Discard, os.Stderr, verb, "-f", "-"); err != nil {
		return err
	}
	return framework.Eventually(r.Context(), patience, func(ctx context.Context) error { // the API server takes its time
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Labels: map[string]string{"a": "b"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
		if err := r.Client.Create(ctx, pod, client.DryRunAll); err != nil {
			return err
		}
		if got := pod.Labels[cluster.FaultLabel]; got != fault {
			return fmt.Errorf("pods are made with fault %q, not %q", got, fault)
		}
		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
