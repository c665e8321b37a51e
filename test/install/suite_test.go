// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/chart"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

const (
	root = "../.."
	// patience bounds each step; the machine may be a busy one.
	patience = 5 * time.Minute
	// The versions of the charts, and the tags of their images.
	former, current = "v0.0.1", "v0.0.2"
)

// suite is a control plane in which nothing is installed yet.
type suite struct {
	*testing.T
	*cluster.Cluster
	kubelet  *kubelet
	balancer *loopback.Balancer
	kube     kubernetes.Interface
	dynamic  dynamic.Interface
	programs string // the folder of kubectl
	charts   map[string]string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	programs, err := cluster.Build(t.Context(), cluster.BuildOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.Abs(filepath.Join(root, "bin", "fairlead"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	s := &suite{T: t, programs: programs, charts: map[string]string{current: filepath.Join(t.TempDir(), "chart")}}
	s.must(chart.Generate(filepath.Join(root, "config"), s.charts[current], current))
	of := map[string]string{"fairlead:" + current: binary}
	of["fairlead:"+former] = s.before(binary)

	s.Cluster, err = cluster.Start(context.WithoutCancel(t.Context()), cluster.Options{Build: cluster.BuildOptions{Root: root}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.must(s.Stop()) })
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.dynamic, err = dynamic.NewForConfig(config)
	s.must(err)
	s.balancer, err = loopback.Listen(context.WithoutCancel(t.Context()), loopback.Options{ProbeTimeout: 10 * time.Second})
	s.must(err)
	t.Cleanup(s.balancer.Close)
	s.kubelet = newKubelet(t, s.Cluster, s.kube, s.balancer, of)
	return s
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// firstChart is the commit that brought the chart: the longest way that an upgrade can have.
const firstChart = "d4d4d32"

// before makes the chart and the binary of an earlier commit, as it would have released them. Without its history,
// as from an archive of the sources, that is the present chart with CRDs that lack a field, and the present binary.
func (s *suite) before(binary string) string {
	s.Helper()
	folder := s.TempDir()
	s.charts[former] = filepath.Join(folder, "dist", "fairlead")
	archive := exec.CommandContext(s.Context(), "git", "archive", "--output="+filepath.Join(folder, "sources.tar"), firstChart)
	archive.Dir = root
	if output, err := archive.CombinedOutput(); err != nil {
		s.Logf("there is no history (%v: %s): the chart of before is the present one with a field less", err, bytes.TrimSpace(output))
		sources := filepath.Join(folder, "config")
		s.must(os.CopyFS(sources, os.DirFS(filepath.Join(root, "config"))))
		crd := filepath.Join(sources, "crd", "bases", "networking.fairlead.dev_externalservices.yaml")
		content, err := os.ReadFile(crd)
		s.must(err)
		older := bytes.ReplaceAll(content, []byte("    shortNames:\n    - extsvc\n"), nil)
		if len(older) == len(content) {
			s.Fatal("the CRD of ExternalServices has no short name to leave out")
		}
		s.must(os.WriteFile(crd, older, 0o600))
		s.must(os.MkdirAll(filepath.Dir(s.charts[former]), 0o700))
		s.must(chart.Generate(sources, s.charts[former], former))
		return binary
	}
	run := func(at, name string, args ...string) {
		s.Helper()
		command := exec.CommandContext(s.Context(), name, args...)
		command.Dir = filepath.Join(folder, at)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			s.Fatalf("%s %q: %v: %s", name, args, err, output)
		}
	}
	run(".", "tar", "-xf", "sources.tar")
	old := filepath.Join(folder, "fairlead")
	run(".", "go", "build", "-trimpath", "-o", old, "./cmd/fairlead")
	run("test/chart", "go", "run", "-trimpath", "./cmd/dist", "--config="+filepath.Join(folder, "config"), "--out="+filepath.Join(folder, "dist"), "--version="+former)
	return old
}

// renderer lets the API server find the Service of the webhooks on this host, and has the objects of a former chart
// stored at v1alpha1.
type renderer struct {
	port    int
	storage string // the version that CRDs store; "" for that of the chart
}

func (r renderer) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	var out bytes.Buffer
	for document := range strings.SplitSeq("\n"+manifests.String(), "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := r.change(object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(content)
	}
	return &out, nil
}

func (r renderer) change(o *unstructured.Unstructured) error {
	switch {
	case o.GetKind() == "Service" && strings.HasSuffix(o.GetName(), "fairlead-webhook"):
		o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	case o.GetKind() == "CustomResourceDefinition":
		if versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions"); r.storage != "" {
			for _, version := range versions {
				version.(map[string]any)["storage"] = version.(map[string]any)["name"] == r.storage
			}
			if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
				return err
			}
		}
		if _, converted, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook"); !converted {
			return nil
		}
		return unstructured.SetNestedField(o.Object, int64(r.port), "spec", "conversion", "webhook", "clientConfig", "service", "port")
	case strings.HasSuffix(o.GetKind(), "WebhookConfiguration"):
		hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, hook := range hooks {
			if err := unstructured.SetNestedField(hook.(map[string]any), int64(r.port), "clientConfig", "service", "port"); err != nil {
				return err
			}
		}
		return unstructured.SetNestedSlice(o.Object, hooks, "webhooks")
	}
	return nil
}

// helm returns Helm's configuration for a namespace, which stores releases in Secrets as the command does.
func (s *suite) helm(namespace string) *action.Configuration {
	s.Helper()
	settings := cli.New()
	settings.KubeConfig, settings.QPS = s.Kubeconfig(), -1
	settings.SetNamespace(namespace)
	configuration := action.NewConfiguration()
	s.must(configuration.Init(settings.RESTClientGetter(), namespace, "secret"))
	return configuration
}

// values are what this host needs: no delay for the proxies of nodes, and no settling of a storage version.
func values(more map[string]any) map[string]any {
	all := map[string]any{
		"configuration": map[string]any{
			"webhook":          map[string]any{"drainDelay": "1s"},
			"storageMigration": map[string]any{"settle": "1s"},
		},
	}
	for name, value := range more {
		all[name] = value
	}
	return all
}

func (s *suite) install(namespace, version, storage string, more map[string]any) {
	s.Helper()
	loaded, err := loader.Load(s.charts[version])
	s.must(err)
	install := action.NewInstall(s.helm(namespace))
	install.ReleaseName, install.Namespace, install.CreateNamespace = "fairlead", namespace, true
	install.TakeOwnership = true // of CRDs that another release has left
	install.WaitStrategy, install.Timeout, install.PostRenderer = kube.StatusWatcherStrategy, patience, renderer{s.balancer.Port(), storage}
	_, err = install.RunWithContext(s.Context(), loaded, values(more))
	s.must(s.told(err))
}

// told adds what the operator wrote to an error.
func (s *suite) told(err error) error {
	if err == nil {
		return nil
	}
	output := s.kubelet.output("")
	return fmt.Errorf("%w\n%s", err, output[max(0, len(output)-8000):])
}

func (s *suite) upgrade(namespace, version string, force bool, more map[string]any) {
	s.Helper()
	loaded, err := loader.Load(s.charts[version])
	s.must(err)
	upgrade := action.NewUpgrade(s.helm(namespace))
	upgrade.Namespace, upgrade.ForceConflicts = namespace, force
	upgrade.WaitStrategy, upgrade.Timeout, upgrade.PostRenderer = kube.StatusWatcherStrategy, patience, renderer{s.balancer.Port(), ""}
	_, err = upgrade.RunWithContext(s.Context(), "fairlead", loaded, values(more))
	s.must(s.told(err))
}

func (s *suite) rollback(namespace string, revision int) {
	s.Helper()
	rollback := action.NewRollback(s.helm(namespace))
	rollback.Version, rollback.WaitStrategy, rollback.Timeout = revision, kube.StatusWatcherStrategy, patience
	rollback.ServerSideApply = "auto"
	s.must(s.told(rollback.Run("fairlead")))
}

func (s *suite) uninstall(namespace string) {
	s.Helper()
	uninstall := action.NewUninstall(s.helm(namespace))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, patience
	_, err := uninstall.Run("fairlead")
	s.must(err)
}

// check runs `fairlead check`, and returns its output and exit code.
func (s *suite) check(args ...string) (string, int) {
	s.Helper()
	command := exec.CommandContext(s.Context(), filepath.Join(root, "bin", "fairlead"), append([]string{"check", "--kubeconfig=" + s.Kubeconfig()}, args...)...)
	output, err := command.CombinedOutput()
	failed := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &failed) {
		s.Fatal(err)
	}
	return string(output), command.ProcessState.ExitCode()
}

// sound wants the check to pass.
func (s *suite) sound(args ...string) string {
	s.Helper()
	output, code := s.check(append([]string{"--wait", "--timeout=2m", "--namespace=shop"}, args...)...)
	if code != 0 || strings.Contains(output, "\nfailed:") {
		s.Fatal(s.told(fmt.Errorf("fairlead check ends with %d:\n%s", code, output)))
	}
	return output
}

func (s *suite) kubectl(args ...string) string {
	s.Helper()
	output, err := s.Kubectl(s.Context(), args...)
	s.must(err)
	return output
}

func (s *suite) apply(manifests string) {
	s.Helper()
	var problems bytes.Buffer
	if err := s.KubectlIO(s.Context(), strings.NewReader(manifests), nil, &problems, "apply", "--server-side", "-f", "-"); err != nil {
		s.Fatalf("%v: %s", err, problems.String())
	}
}

// eventually asks until the answer is nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = ask(); err == nil {
			return
		}
		select {
		case <-s.Context().Done():
			s.Fatal(err)
		case <-time.After(200 * time.Millisecond):
		}
	}
	s.Fatal(s.told(fmt.Errorf("not within %s: %w", patience, err)))
}

// everything are all objects of the cluster but those that come and go by themselves.
func (s *suite) everything() map[string]bool {
	s.Helper()
	_, lists, err := discovery.ServerGroupsAndResources(s.kube.Discovery())
	s.must(err)
	all := map[string]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		s.must(err)
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") || resource.Name == "events" || resource.Name == "apiservices" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects, err := s.dynamic.Resource(version.WithResource(resource.Name)).List(s.Context(), metav1.ListOptions{})
			s.must(err)
			for _, o := range objects.Items {
				all[resource.Name+"."+version.Group+" "+strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")] = true
			}
		}
	}
	return all
}

// left are the objects that were not there before.
func (s *suite) left(before map[string]bool) (added []string) {
	s.Helper()
	for name := range s.everything() {
		if !before[name] {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return added
}
