// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package install

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Helm refuses a second release, and Argo CD, which renders charts, does not see the cluster. It may be given CRDs of its
// own or none: the release that the CRDs call goes on, and the other says why it does not.
func TestASecondReleaseLeavesTheFirstAlone(t *testing.T) {
	s := newSuite(t)
	s.kubectl("create", "namespace", "shop")
	values := map[string]any{"flowSchemas": map[string]any{"enabled": true}}
	s.install("fairlead-system", current, values)
	s.apply(objects)
	s.hasObjects()
	s.flowSchemas("fairlead-system")

	second := map[string]any{"fullnameOverride": "team-fairlead", "crds": map[string]any{"enabled": false}}
	if _, err := s.release("team-system", current, action.DryRunNone, second); err == nil ||
		!strings.Contains(err.Error(), "another installation of Fairlead is in this cluster: CustomResourceDefinition ") {
		t.Errorf("helm install of a second release: %v", err)
	}

	s.fitsPlatforms()
	s.sharesWebhooks(values)
	requests := s.requests()
	manifests, err := s.release("team-system", current, action.DryRunClient, second)
	s.must(err)
	s.kubectl("create", "namespace", "team-system")
	s.apply(manifests)
	s.eventually(func() error {
		events := s.kubectl("get", "events", "-n", "team-system", "-o", "jsonpath={range .items[*]}{.reason}: {.message}{'\\n'}{end}")
		if !strings.Contains(events, "NotReconciling: ") || !strings.Contains(events, "another installation of Fairlead reconciles") {
			return fmt.Errorf("the events of the second release:\n%s", events)
		}
		return nil
	})
	s.eventually(func() error {
		output, code := s.check("--namespace=shop", "--operator-namespace=team-system")
		if code != 1 || !strings.Contains(output, "another installation") {
			return fmt.Errorf("the check of the second release ends with %d:\n%s", code, output)
		}
		return nil
	})
	s.apply(strings.ReplaceAll(objects, "192.0.2.1", "192.0.2.2"))
	s.published("192.0.2.2")
	s.hasObjects()
	requests.end("a second release beside it")
	s.kubectlWith(manifests, "delete", "--ignore-not-found", "-f", "-")
	s.sound()

	// A blank key deletes no object at the uninstallation.
	err = s.tryUpgrade("fairlead-system", current, upgradeFlags{}, map[string]any{"crds": map[string]any{"keep": nil}})
	if err == nil || !strings.Contains(err.Error(), "crds.keep has no value") {
		t.Errorf("an upgrade with `crds: {keep: }`: %v", err)
	}
	s.uninstall("fairlead-system")
	s.kubectl("get", "crd", "externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev", "chaospods.chaos.fairlead.dev")
}

// flowSchemas wants the API server to take what must be in time, of the operator, by the FlowSchemas of the chart.
func (s *suite) flowSchemas(namespace string) {
	s.Helper()
	token, err := s.kube.CoreV1().ServiceAccounts(namespace).CreateToken(s.Context(), "fairlead-manager", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	s.must(err)
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	s.must(err)
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	var by string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				by = response.Header.Get("X-Kubernetes-Pf-Flowschema-Uid")
			}
			return response, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	for schema, request := range map[string]func() error{
		"fairlead-leader-election": func() error {
			_, err := client.CoordinationV1().Leases(namespace).Get(s.Context(), "fairlead-manager", metav1.GetOptions{})
			return err
		},
		"fairlead-reviews": func() error {
			_, err := client.AuthorizationV1().SubjectAccessReviews().Create(s.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "guest", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}},
			}, metav1.CreateOptions{})
			return err
		},
		"service-accounts": func() error {
			_, err := client.CoreV1().ConfigMaps(namespace).Get(s.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			if by == "" {
				return err
			}
			return nil // it may be refused, after it was classified
		},
	} {
		made, err := s.kube.FlowcontrolV1().FlowSchemas().Get(s.Context(), schema, metav1.GetOptions{})
		s.must(err)
		s.eventually(func() error { // the API server reads FlowSchemas by a watch
			by = ""
			if err := request(); err != nil {
				return err
			}
			if by != string(made.UID) {
				return fmt.Errorf("%s: taken by the FlowSchema with UID %q, want %q", schema, by, made.UID)
			}
			return nil
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
