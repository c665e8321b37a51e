// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
)

// helm3Configuration is the counterpart for Helm 3 of helm, which is Helm 4. Helm 3 patches objects by what it stored of them, and knows no conflicts.
func (s *suite) helm3Configuration(namespace string) *action.Configuration {
	s.Helper()
	settings := cli.New()
	settings.KubeConfig, settings.QPS = s.kubeconfig, -1
	settings.SetNamespace(namespace)
	configuration := &action.Configuration{}
	s.must(configuration.Init(settings.RESTClientGetter(), namespace, "secret", func(string, ...any) {}))
	return configuration
}

func (s *suite) chartOfHelm3(version string) *chart.Chart {
	s.Helper()
	loaded, err := loader.Load(Chart(s.versions, version))
	s.must(err)
	return loaded
}

func (s *suite) installByHelm3(namespace, version string, more map[string]any) {
	s.Helper()
	install := action.NewInstall(s.helm3Configuration(namespace))
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.TakeOwnership = "fairlead", namespace, true, true
	install.Wait, install.Timeout, install.PostRenderer = true, patience, s.renderer(namespace)
	_, err := install.RunWithContext(s.Context(), s.chartOfHelm3(version), s.values(more))
	s.must(s.told(err))
}

func (s *suite) tryUpgradeByHelm3(namespace, version string, flags upgradeFlags, more map[string]any) error {
	s.Helper()
	upgrade := action.NewUpgrade(s.helm3Configuration(namespace))
	upgrade.Namespace = namespace
	upgrade.ReuseValues, upgrade.ResetThenReuseValues = flags.reuseValues, flags.resetThenReuseValues
	upgrade.Wait, upgrade.Timeout, upgrade.PostRenderer = true, patience, s.renderer(namespace)
	_, err := upgrade.RunWithContext(s.Context(), "fairlead", s.chartOfHelm3(version), flags.values(s, more))
	return err
}

func (s *suite) rollbackByHelm3(namespace string, revision int) {
	s.Helper()
	rollback := action.NewRollback(s.helm3Configuration(namespace))
	rollback.Version, rollback.Wait, rollback.Timeout = revision, true, patience
	s.must(s.told(rollback.Run("fairlead")))
}

func (s *suite) uninstallByHelm3(namespace string) {
	s.Helper()
	uninstall := action.NewUninstall(s.helm3Configuration(namespace))
	uninstall.Wait, uninstall.Timeout = true, patience
	_, err := uninstall.Run("fairlead")
	s.must(err)
}

func (s *suite) testByHelm3(namespace string) error {
	s.Helper()
	test := action.NewReleaseTesting(s.helm3Configuration(namespace))
	test.Namespace, test.Timeout = namespace, patience
	_, err := test.Run("fairlead")
	return err
}
