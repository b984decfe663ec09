declare module "virtual:search/*" {
  /** JSON of the sections of a language. */
  const sections: string;
  export default sections;
}
