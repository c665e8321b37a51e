// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

const (
	root = "../.."
	// patience bounds each step; the machine may be a busy one.
	patience = 5 * time.Minute
	former   = Former
	current  = Current
)

// suite is a control plane in which nothing is installed yet.
type suite struct {
	*testing.T
	kube       kubernetes.Interface
	dynamic    dynamic.Interface
	kubeconfig string
	programs   string // the folder of kubectl
	versions   string // the folder of WriteVersions
	// output returns what pods whose name begins so have printed.
	output  func(prefix string) string
	figures []figures
	// helm3 has Helm 3 install, upgrade, roll back, test and uninstall, and not Helm 4.
	helm3 bool
	// Without a node:
	local   *cluster.Cluster
	kubelet *kubelet
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{T: t}
	kubeconfig := os.Getenv(nodeVariable)
	if kubeconfig != "" {
		s.onNode(kubeconfig)
	} else {
		t.Parallel() // most of the time it waits for rollouts
		s.start()
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	s.must(err)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.dynamic, err = dynamic.NewForConfig(config)
	s.must(err)
	if kubeconfig != "" {
		return s
	}
	program, err := filepath.Abs(filepath.Join(root, "bin", "fairlead"))
	s.must(err)
	s.kubelet = newKubelet(t, s.local, s.kube, map[string]string{
		"fairlead:" + current: program,
		"fairlead:" + former:  Program(s.versions, former),
	})
	s.output = s.kubelet.output
	return s
}

// versions writes the charts and programs that all tests share.
var versions = sync.OnceValues(func() (string, error) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	note, err := WriteVersions(context.Background(), checkout, folder, FirstChart)
	if note != "" {
		fmt.Fprintln(os.Stderr, note)
	}
	return folder, err
})

// folder is that of the versions.
var folder string

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)               // a fifth of the time of a test is that of collecting garbage
	err := flag.Set("test.parallel", "3") // most of their time they wait for rollouts; the flag -parallel has the last word
	if err == nil {
		folder, err = os.MkdirTemp("", "fairlead-install-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// start starts a control plane of this host.
func (s *suite) start() {
	s.Helper()
	var err error
	s.programs, err = cluster.Build(s.Context(), cluster.BuildOptions{Root: root})
	s.must(err)
	if _, err := os.Stat(filepath.Join(root, "bin", "fairlead")); err != nil {
		s.Fatalf("%v: run `make build` first", err)
	}
	s.versions, err = versions()
	s.must(err)
	s.local, err = cluster.Start(context.WithoutCancel(s.Context()), cluster.Options{Build: cluster.BuildOptions{Root: root}})
	s.must(err)
	s.Cleanup(func() { s.must(s.local.Stop()) })
	s.kubeconfig = s.local.Kubeconfig()
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// renderer lets the API server find the Service of the webhooks on this host, where there is no node.
type renderer struct {
	port int // on this host; 0 on a node
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
	case r.port != 0 && o.GetKind() == "Deployment": // no proxy of a node has to learn of a pod
		return unstructured.SetNestedField(o.Object, int64(2), "spec", "minReadySeconds")
	case r.port != 0 && o.GetKind() == "Service" && strings.HasSuffix(o.GetName(), "fairlead-webhook"):
		o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	case o.GetKind() == "CustomResourceDefinition":
		if _, converted, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook"); !converted || r.port == 0 {
			return nil
		}
		return unstructured.SetNestedField(o.Object, int64(r.port), "spec", "conversion", "webhook", "clientConfig", "service", "port")
	case r.port != 0 && strings.HasSuffix(o.GetKind(), "WebhookConfiguration"):
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
	settings.KubeConfig, settings.QPS = s.kubeconfig, -1
	settings.SetNamespace(namespace)
	configuration := action.NewConfiguration()
	s.must(configuration.Init(settings.RESTClientGetter(), namespace, "secret"))
	return configuration
}

// renderer changes what the chart renders.
func (s *suite) renderer(namespace string) renderer {
	s.Helper()
	if s.kubelet == nil {
		return renderer{}
	}
	port, err := s.kubelet.port(namespace)
	s.must(err)
	return renderer{port}
}

// values returns the values of a test: on this host, less delay than for the proxies of nodes.
func (s *suite) values(more map[string]any) map[string]any {
	all := map[string]any{}
	if s.local != nil {
		all["configuration"] = map[string]any{"webhook": map[string]any{"drainDelay": "3s"}}
	}
	for name, value := range more {
		all[name] = value
	}
	return all
}

func (s *suite) install(namespace, version string, more map[string]any) {
	s.Helper()
	if s.helm3 {
		s.installByHelm3(namespace, version, more)
	} else {
		_, err := s.release(namespace, version, action.DryRunNone, more)
		s.must(s.told(err))
	}
	s.trusts(namespace)
}

// trusts waits until the API server converts objects of every kind: it reads the CA bundle of a CRD by a watch, which
// on a busy machine takes seconds longer than the rollout.
func (s *suite) trusts(namespace string) {
	s.Helper()
	s.eventually(func() error {
		_, err := s.tryKubectl(strings.ReplaceAll(objects, "namespace: shop", "namespace: "+namespace), "apply", "--server-side", "--dry-run=server", "-f", "-")
		return err
	})
}

// release is `helm install`, or `helm template` with action.DryRunClient, and returns the manifests.
func (s *suite) release(namespace, version string, dryRun action.DryRunStrategy, more map[string]any) (string, error) {
	s.Helper()
	loaded, err := loader.Load(Chart(s.versions, version))
	s.must(err)
	install := action.NewInstall(s.helm(namespace))
	install.ReleaseName, install.Namespace, install.CreateNamespace = "fairlead", namespace, true
	install.TakeOwnership = true // of CRDs that another release has left
	install.DryRunStrategy = dryRun
	server, err := s.kube.Discovery().ServerVersion() // which a dry run does not ask for
	s.must(err)
	install.KubeVersion, err = common.ParseKubeVersion(server.GitVersion)
	s.must(err)
	install.WaitStrategy, install.Timeout, install.PostRenderer = kube.StatusWatcherStrategy, patience, s.renderer(namespace)
	made, err := install.RunWithContext(s.Context(), loaded, s.values(more))
	if err != nil {
		return "", err
	}
	return made.(*releasev1.Release).Manifest, nil
}

// told adds what the operator wrote to an error.
func (s *suite) told(err error) error {
	if err == nil {
		return nil
	}
	output := s.output("")
	return fmt.Errorf("%w\n%s", err, output[max(0, len(output)-8000):])
}

// upgradeFlags are those of `helm upgrade`: --force-conflicts, which Helm 4 has, and what becomes of the values of the release.
type upgradeFlags struct{ forceConflicts, reuseValues, resetThenReuseValues bool }

// values are those that such an upgrade names: all of them, or with values that are kept only what changes.
func (f upgradeFlags) values(s *suite, more map[string]any) map[string]any {
	if f.reuseValues || f.resetThenReuseValues {
		return more
	}
	return s.values(more)
}

func (s *suite) upgrade(namespace, version string, flags upgradeFlags, more map[string]any) {
	s.Helper()
	s.must(s.told(s.tryUpgrade(namespace, version, flags, more)))
}

func (s *suite) tryUpgrade(namespace, version string, flags upgradeFlags, more map[string]any) error {
	s.Helper()
	if s.helm3 {
		return s.tryUpgradeByHelm3(namespace, version, flags, more)
	}
	loaded, err := loader.Load(Chart(s.versions, version))
	s.must(err)
	upgrade := action.NewUpgrade(s.helm(namespace))
	upgrade.Namespace, upgrade.ForceConflicts = namespace, flags.forceConflicts
	upgrade.ReuseValues, upgrade.ResetThenReuseValues = flags.reuseValues, flags.resetThenReuseValues
	upgrade.WaitStrategy, upgrade.Timeout, upgrade.PostRenderer = kube.StatusWatcherStrategy, patience, s.renderer(namespace)
	_, err = upgrade.RunWithContext(s.Context(), "fairlead", loaded, flags.values(s, more))
	return err
}

func (s *suite) rollback(namespace string, revision int) {
	s.Helper()
	if s.helm3 {
		s.rollbackByHelm3(namespace, revision)
		return
	}
	rollback := action.NewRollback(s.helm(namespace))
	rollback.Version, rollback.WaitStrategy, rollback.Timeout = revision, kube.StatusWatcherStrategy, patience
	s.must(s.told(rollback.Run("fairlead")))
}

func (s *suite) uninstall(namespace string) {
	s.Helper()
	if s.helm3 {
		s.uninstallByHelm3(namespace)
		return
	}
	uninstall := action.NewUninstall(s.helm(namespace))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, patience
	_, err := uninstall.Run("fairlead")
	s.must(err)
}

// check runs `fairlead check`, and returns its output and exit code.
func (s *suite) check(args ...string) (string, int) {
	s.Helper()
	command := exec.CommandContext(s.Context(), filepath.Join(root, "bin", "fairlead"), append([]string{"check", "--kubeconfig=" + s.kubeconfig}, args...)...)
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
	return s.kubectlWith("", args...)
}

func (s *suite) apply(manifests string) {
	s.Helper()
	s.kubectlWith(manifests, "apply", "--server-side", "-f", "-")
}

func (s *suite) kubectlWith(stdin string, args ...string) string {
	s.Helper()
	output, err := s.tryKubectl(stdin, args...)
	s.must(err)
	return output
}

func (s *suite) tryKubectl(stdin string, args ...string) (string, error) {
	var output, problems bytes.Buffer
	command := exec.CommandContext(s.Context(), filepath.Join(s.programs, cluster.Kubectl), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "KUBECTL_KUBERC=false")
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &output, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return output.String(), nil
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
				switch {
				case o.GetNamespace() == "kube-node-lease": // of the kubelet, which makes it once it is ready
					continue
				case o.GetName() == "kube-root-ca.crt", resource.Name == "serviceaccounts" && o.GetName() == "default":
					continue // of kube-controller-manager, which makes them in each namespace
				}
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
